"""The Pub/Sub bus on the emulator, for the tests that ask for it."""

from collections.abc import AsyncIterator

import pytest

from aex_runtime.bus.consumption import Pace
from aex_runtime.bus.port import Bus
from aex_runtime.bus.pubsub import PubSubBus
from tests.bus.contract import OpenBus
from tests.emulators.emulators import Emulators


@pytest.fixture
async def open_pubsub(emulators: Emulators, project: str) -> AsyncIterator[OpenBus]:
    """Opens the project's bus, each time as another process would."""
    opened: list[PubSubBus] = []

    def opener(pace: Pace) -> Bus:
        opened.append(PubSubBus(project, emulator=emulators.pubsub.host, pace=pace))
        return opened[-1]

    yield opener
    for bus in opened:
        await bus.close()
