"""What reading keeps to by itself: less than its worker has, so that it can tell what was too much."""

import pytest

from aex_outcomes.config import READING_DATA, SandboxConfig
from aex_outcomes.science.limits import DataLimits


def test_reading_ends_by_itself_before_its_worker_is_ended() -> None:
    assert DataLimits.within(READING_DATA) == DataLimits()
    for memory_mb in (64, 256, 512, 4_096):
        limits = DataLimits.within(SandboxConfig(memory_limit_mb=memory_mb, timeout_ms=9_000))
        assert memory_mb / 2 <= limits.memory_mb < memory_mb
        assert limits.cpu_seconds == pytest.approx(9 / 4)  # for each of two owners
