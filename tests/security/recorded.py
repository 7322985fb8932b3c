"""The real services, with a copy of each published message and of each span."""

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
from opentelemetry.trace import TracerProvider

from aex_runtime.bus.port import Bus, Outgoing, Receiver
from aex_runtime.service import Backends, open_backends
from aex_runtime.settings import RuntimeSettings
from aex_runtime.tracing.exporters import open_exporter
from aex_runtime.tracing.sdk import BatchExporter, create_recording_tracers

FOLDER = "TEST_RECORDED_EVENTS"
"""The environment variable that says where the copies go."""
SUFFIX = ".spans"
EXPORTED = f".exported{SUFFIX}"


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


def recorded_spans(service: str) -> TracerProvider:
    """Return tracers that write each finished span as a JSON line and export it as `AEX_TRACES_URL` says."""
    file = (Path(os.environ[FOLDER]) / f"{service}{SUFFIX}").open("a", encoding="utf-8")
    exporter = ConsoleSpanExporter(out=file, formatter=lambda span: span.to_json(indent=None) + "\n")
    exported = open_exporter(f"file:///{Path(os.environ[FOLDER]) / f'{service}{EXPORTED}'}")
    return create_recording_tracers(service, [SimpleSpanProcessor(exporter), BatchExporter(exported)])


def recorded(settings: RuntimeSettings, service: str) -> tuple[Backends, TracerProvider]:
    backends = open_backends(settings, service)
    bus = RecordedBus(backends.bus, Path(os.environ[FOLDER]) / f"{service}.jsonl")
    return replace(backends, bus=bus), recorded_spans(service)
