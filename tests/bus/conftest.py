from collections.abc import AsyncIterator

import pytest

from aex_runtime.bus.consume_loop import ConsumePolicy
from aex_runtime.bus.port import Bus
from aex_runtime.bus.pubsub import PubSubBus
from tests.bus.contract import OpenBus
from tests.emulators.emulators import Emulators


@pytest.fixture
async def open_pubsub(emulators: Emulators, project: str) -> AsyncIterator[OpenBus]:
    opened: list[PubSubBus] = []

    def opener(policy: ConsumePolicy) -> Bus:
        opened.append(PubSubBus(project, emulator=emulators.pubsub.host, policy=policy))
        return opened[-1]

    yield opener
    for bus in opened:
        await bus.close()
