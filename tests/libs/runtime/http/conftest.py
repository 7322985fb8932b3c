"""The sample service, fresh for each test."""

from pathlib import Path

import pytest

from tests.libs.runtime.http.sample import Sample, sample


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """Return a sample for the tests of a module that change nothing."""
    return sample(tmp_path_factory.mktemp("shared"))


@pytest.fixture
def made(tmp_path: Path) -> Sample:
    return sample(tmp_path / "data")
