"""The sample service, fresh for each test."""

from pathlib import Path

import pytest

from tests.libs.runtime.http.sample import Sample, sample


@pytest.fixture
def made(tmp_path: Path) -> Sample:
    return sample(tmp_path / "data")
