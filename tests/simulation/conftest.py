"""The simulator's own fixtures."""

from collections.abc import Iterator

import pytest

from tests.simulation.runs.running import suppress_log


@pytest.fixture(autouse=True, scope="module")
def _silent_log() -> Iterator[None]:
    """Silence the log for all runs of a session, also for those that fixtures of modules start."""
    with suppress_log():
        yield
