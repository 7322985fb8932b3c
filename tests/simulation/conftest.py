"""The simulator's own fixtures."""

from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture(autouse=True)
def _only_alarms() -> Iterator[None]:
    """Thousands of faults a run are told by the trace; the log is left to what nobody expects."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    yield
    structlog.configure(**before)
