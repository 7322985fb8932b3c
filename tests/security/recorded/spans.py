"""A file with every span that a service has made, whole, as an exporter is given them."""

import os
from pathlib import Path

from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
from opentelemetry.trace import TracerProvider

from aex_runtime.telemetry import recording_tracers
from tests.security.recorded.bus import FOLDER

SUFFIX = ".spans"


def recorded_spans(service: str) -> TracerProvider:
    """Tracers that write each span down as it ends, one JSON line."""
    file = (Path(os.environ[FOLDER]) / f"{service}{SUFFIX}").open("a", encoding="utf-8")
    exporter = ConsoleSpanExporter(out=file, formatter=lambda span: span.to_json(indent=None) + "\n")
    return recording_tracers(service, [SimpleSpanProcessor(exporter)])
