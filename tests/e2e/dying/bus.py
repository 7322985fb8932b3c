"""The real bus, but for one publication that the process does not survive."""

import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from aex_runtime.bus.port import Bus, Outgoing, Receiver
from aex_runtime.service import Backends, open_backends
from aex_runtime.settings import RuntimeSettings

MOMENTS = ("before", "after")
"""Before the bus has the event, or after it, when the outbox still holds it."""


class DyingBus:
    """Ends its own process with SIGKILL at the first publication to `topic`; the flag file remembers that."""

    def __init__(self, bus: Bus, topic: str, moment: str, flag: Path) -> None:
        self._bus, self._topic, self._moment, self._flag = bus, topic, moment, flag

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        fatal = not self._flag.exists() and any(each.topic == self._topic for each in messages)
        if fatal and self._moment == "before":
            self._die()
        await self._bus.publish(messages)
        if fatal:
            self._die()

    async def consume(self, service: str, topics: Sequence[str], receive: Receiver, concurrency: int) -> None:
        await self._bus.consume(service, topics, receive, concurrency)

    async def ping(self) -> None:
        await self._bus.ping()

    async def close(self) -> None:
        await self._bus.close()

    def _die(self) -> None:
        self._flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def dying_backends(settings: RuntimeSettings, service: str, topic: str) -> Backends:
    """The backends of the settings, with a bus that dies once at `topic`, at the moment that the test chose."""
    backends = open_backends(settings, service)
    flag = Path(os.environ["TEST_DYING_FLAGS"]) / service
    return replace(backends, bus=DyingBus(backends.bus, topic, os.environ["TEST_DYING_MOMENT"], flag))
