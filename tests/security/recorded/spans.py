"""Files with every span that a service has made: whole, as tracers make them, and as they are exported to a file."""

import os
from pathlib import Path

from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
from opentelemetry.trace import TracerProvider

from aex_runtime.tracing.batches import Batches
from aex_runtime.tracing.factory import open_exporter
from aex_runtime.tracing.recording import recording_tracers
from tests.security.recorded.bus import FOLDER

SUFFIX = ".spans"
EXPORTED = f".exported{SUFFIX}"


def recorded_spans(service: str) -> TracerProvider:
    """Tracers that write each span down as it ends, one JSON line; and export it, as `AEX_TRACES_URL` has it done."""
    file = (Path(os.environ[FOLDER]) / f"{service}{SUFFIX}").open("a", encoding="utf-8")
    exporter = ConsoleSpanExporter(out=file, formatter=lambda span: span.to_json(indent=None) + "\n")
    exported = open_exporter(f"file:///{Path(os.environ[FOLDER]) / f'{service}{EXPORTED}'}")
    return recording_tracers(service, [SimpleSpanProcessor(exporter), Batches(exported)])
