import pytest

from aex_runtime.clock import SetClock
from tests.libs.runtime.background import START, RecordingBus


@pytest.fixture
def clock() -> SetClock:
    return SetClock(START)


@pytest.fixture
def bus() -> RecordingBus:
    return RecordingBus()
