"""The simulator's own fixtures."""

from collections.abc import Iterator

import pytest

from tests.simulation.runs.running import silent_log


@pytest.fixture(autouse=True, scope="module")
def _silent_log() -> Iterator[None]:
    """For runs that a test begins by itself, too; before the fixtures of a module, which begin some."""
    with silent_log():
        yield
