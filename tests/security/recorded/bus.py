"""The real bus, and a file beside it with every message that a service has put on it."""

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from aex_runtime.bus.port import Bus, Outgoing, Receiver
from aex_runtime.service import Backends, open_backends
from aex_runtime.settings import RuntimeSettings

FOLDER = "TEST_RECORDED_EVENTS"
"""The environment variable that says where the copies go."""


class RecordedBus:
    """Writes each message down, one JSON line, then passes it on."""

    def __init__(self, bus: Bus, copy: Path) -> None:
        self._bus, self._copy = bus, copy

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        lines = [[each.topic, each.message.attributes, each.message.data.decode()] for each in messages]
        with self._copy.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        await self._bus.publish(messages)

    async def consume(self, service: str, topics: Sequence[str], receive: Receiver, concurrency: int) -> None:
        await self._bus.consume(service, topics, receive, concurrency)

    async def ping(self) -> None:
        await self._bus.ping()

    async def close(self) -> None:
        await self._bus.close()


def recorded_backends(settings: RuntimeSettings, service: str) -> Backends:
    """The backends of the settings, recorded."""
    backends = open_backends(settings, service)
    return replace(backends, bus=RecordedBus(backends.bus, Path(os.environ[FOLDER]) / f"{service}.jsonl"))
