from collections.abc import AsyncIterator

import pytest

from aex_runtime.bus.consume_loop import ConsumePolicy
from aex_runtime.bus.memory import MemoryBus
from aex_runtime.bus.port import Bus
from tests.bus.contract import BusContract, OpenBus


class TestMemoryBus(BusContract):
    @pytest.fixture
    async def open_bus(self) -> AsyncIterator[OpenBus]:
        opened: list[MemoryBus] = []

        def opener(policy: ConsumePolicy) -> Bus:
            bus = MemoryBus(policy=policy)
            if opened:  # on the same queues, as of another process
                bus._rows, bus._wakes, bus._numbers = opened[0]._rows, opened[0]._wakes, opened[0]._numbers
            opened.append(bus)
            return bus

        yield opener
        for bus in opened:
            await bus.close()
