"""Structured logs on stderr: JSON lines, plain or as Google Cloud wants them, or coloured text on a console.

Secrets do not get that far.
"""

import json
import logging
import sys
from collections.abc import MutableMapping
from contextlib import suppress
from importlib.metadata import version
from typing import Any, Literal, TextIO, cast

import structlog
from opentelemetry import trace
from structlog.typing import Processor

from aex_runtime.google_logs import google_entry
from aex_runtime.redaction import redact, without_messages

Event = MutableMapping[str, Any]
Form = Literal["json", "google", "console"]


def configure_logging(service: str, level: str = "info", form: Form = "json", project: str | None = None) -> None:
    """Send everything that is logged, by structlog or by the standard library, to stderr in one form.

    `project`: the one on Google Cloud that traces belong to, for the form of that name. Called once by a process,
    before it serves; nothing else configures logging.
    """
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        _name_of(service),
        _trace_id,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        without_messages,
        redact,
    ]
    render: list[Processor] = [structlog.dev.ConsoleRenderer()] if form == "console" else [_as_json]
    if form == "google":
        render.insert(0, google_entry(project, version("aex-runtime")))
    number = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[*shared, *render],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(cast(TextIO, _Unfailing(sys.stderr))),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *render]
        )
    )
    logging.basicConfig(handlers=[handler], level=max(number, logging.INFO), force=True)
    for noisy in ("httpx", "httpcore", "uvicorn.access"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


class _Unfailing:
    """A stream whose failures are nobody's: a full disk behind it must not fail the work that tells of itself."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, or lose the text where the stream takes none."""
        with suppress(OSError, ValueError):  # full or broken; closed
            return self._stream.write(text)
        return 0

    def flush(self) -> None:
        """Flush; what cannot be written stays with the stream until it can, or is lost."""
        with suppress(OSError, ValueError):
            self._stream.flush()


def _name_of(service: str) -> Processor:
    def add(_logger: Any, _method: str, event: Event) -> Event:
        event.setdefault("service", service)
        return event

    return add


def _trace_id(_logger: Any, _method: str, event: Event) -> Event:
    found = trace.get_current_span().get_span_context()
    if found.is_valid:
        event["trace_id"] = trace.format_trace_id(found.trace_id)
    return event


_ENCODER = json.JSONEncoder(separators=(",", ":"), default=str)


def _as_json(_logger: Any, _method: str, event: Event) -> str:
    return _ENCODER.encode(event)
