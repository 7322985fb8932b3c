from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from aex_runtime.bus.consumption import Pace
from aex_runtime.bus.memory import MemoryBus
from aex_runtime.bus.port import Bus, Retry
from aex_runtime.clock import SetClock
from tests.bus.contract import PUBLISHER, BusContract, OpenBus
from tests.bus.messages import CHECKED, Recorder, outgoing


class TestMemoryBus(BusContract):
    @pytest.fixture
    async def open_bus(self) -> AsyncIterator[OpenBus]:
        opened: list[MemoryBus] = []

        def opener(pace: Pace) -> Bus:
            opened.append(opened[0].seen_by_another(pace) if opened else MemoryBus(pace=pace))
            return opened[-1]

        yield opener
        for bus in opened:
            await bus.close()


async def test_what_is_due_is_delivered_step_by_step_on_a_clock_that_stands_still() -> None:
    clock = SetClock(datetime(2025, 1, 1, tzinfo=UTC))
    bus, recorder = MemoryBus(clock), Recorder(Retry(timedelta(minutes=1)))
    await bus.publish([outgoing("a"), outgoing("b")])
    assert await bus.deliver_due(PUBLISHER, [CHECKED], recorder) == 2
    assert await bus.deliver_due(PUBLISHER, [CHECKED], recorder) == 0
    clock.advance(timedelta(minutes=1))
    assert await bus.deliver_due(PUBLISHER, [CHECKED], recorder) == 1
    assert recorder.names == ["a", "b", "a"]
    assert await bus.backlog(PUBLISHER) == 0
