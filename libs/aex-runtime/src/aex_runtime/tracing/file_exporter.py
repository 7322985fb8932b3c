"""A span exporter that writes lines of JSON to a file.

Several processes may share the file, and it may be moved while they run.
"""

import fcntl
import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import SpanContext, format_span_id, format_trace_id

_NS = 1_000_000_000
_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)


class FileExporter(SpanExporter):
    """A span exporter that appends to a file and opens it for each batch."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Append a line for each span: all of them or none. Raises `OSError`."""
        content = "".join(f"{_ENCODER.encode(span_as_json(span))}\n" for span in spans).encode()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # one process writes at a time
            before = file.seek(0, os.SEEK_END)
            try:
                rest = memoryview(content)
                while rest:
                    rest = rest[file.write(rest) :]
            except OSError:
                file.truncate(before)  # a full disk must leave no partial line
                raise
        return SpanExportResult.SUCCESS


def span_as_json(span: ReadableSpan) -> dict[str, Any]:
    """Return a span as JSON: W3C ids in hexadecimal, RFC 3339 times with nanoseconds, in UTC."""
    context = span.get_span_context()
    if context is None:
        raise ValueError(f"{span.name} has no context")
    return {
        **_ids(context),
        "parent_span_id": format_span_id(span.parent.span_id) if span.parent else None,
        "name": span.name,
        "kind": span.kind.name.lower(),
        "start": _instant(span.start_time),
        "end": _instant(span.end_time),
        "status": span.status.status_code.name.lower(),
        "service": span.resource.attributes.get("service.name"),
        "attributes": dict(span.attributes or {}),
        "links": [_ids(link.context) for link in span.links],
    }


def _ids(context: SpanContext) -> dict[str, str]:
    return {"trace_id": format_trace_id(context.trace_id), "span_id": format_span_id(context.span_id)}


def _instant(ns: int | None) -> str | None:
    if ns is None:
        return None
    seconds = datetime.fromtimestamp(ns // _NS, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{seconds}.{ns % _NS:09d}Z"
