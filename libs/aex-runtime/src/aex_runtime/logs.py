"""Structured logs on stderr without secrets: as JSON lines, in Google Cloud's form, or as text.

Messages of exceptions may quote request data. So log lines have only their types and frames.
"""

import json
import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import version
from math import isfinite
from pathlib import PurePath
from traceback import extract_tb
from typing import Any, Literal, TextIO, cast

import structlog
from opentelemetry import trace
from structlog.typing import Processor

from aex_runtime.errors import DomainError
from aex_runtime.google_logs import google_log_processor
from aex_runtime.tracing.spans import build_span_attributes_of_message_ids

Event = MutableMapping[str, Any]
Form = Literal["json", "google", "console"]

REDACTED = "[redacted]"
_SECRET_NAMES = re.compile(
    r"(?i)authorization|cookie|passw|secret|credential|private_?key|api_?key|(^|_)token$|evaluation$"
)
_BEARER = re.compile(r"(?i)\bbearer\s+\S+")
_JWT = re.compile(r"\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*")
_MAX_TEXT = 2_000
_MAX_FRAMES = 30
_MAX_LINKS = 30


def redact_secrets_and_cut_texts(_logger: Any, _method: str, event: Event) -> Event:
    """Replace secret values, and tokens in texts, and cut long texts; a structlog processor."""
    for name, value in event.items():
        if _is_secret(name):
            event[name] = REDACTED
        elif not isinstance(value, int):
            event[name] = _clean(value)
    return event


def replace_exception(_logger: Any, _method: str, event: Event) -> Event:
    """Replace an exception by its types and frames; a structlog processor."""
    found = event.pop("exc_info", None)
    if found is True:
        found = sys.exc_info()[1]
    elif isinstance(found, tuple):
        found = found[1]
    if isinstance(found, BaseException):
        event["traceback"] = exception_chain(found)
    return event


def exception_chain(error: BaseException) -> list[dict[str, Any]]:
    """Return the types and frames of an exception, its causes and its group members, outermost first."""
    chain: list[dict[str, Any]] = []
    visited: set[int] = set()
    pending = [error]
    while pending and len(chain) < _MAX_LINKS:
        current = pending.pop(0)
        if id(current) in visited:
            continue
        visited.add(id(current))
        frames = extract_tb(current.__traceback__)[-_MAX_FRAMES:]
        kind = type(current)
        chain.append(
            {
                "type": f"{kind.__module__}.{kind.__qualname__}",
                "frames": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
            }
        )
        if isinstance(current, BaseExceptionGroup):
            pending += current.exceptions
        cause = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
        pending += [cause] if cause is not None else []
    return chain


@lru_cache(maxsize=1_024)  # field names are few and repeat in each line
def _is_secret(name: str) -> bool:
    return _SECRET_NAMES.search(name) is not None


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return _clean_text(value)
    if isinstance(value, Mapping):
        return {name: REDACTED if _is_secret(str(name)) else _clean(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return str(value)  # JSON has none: a reader would treat the line as text, and miss its alarm
    return value


def _clean_text(text: str) -> str:
    short = text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"
    if "eyJ" in short or "earer" in short or "EARER" in short:
        return _JWT.sub(REDACTED, _BEARER.sub(f"Bearer {REDACTED}", short))
    return short


def configure_logging(service: str, level: str = "info", form: Form = "json", project: str | None = None) -> None:
    """Send all logs of structlog and the standard library to stderr. Call it once per process.

    `project` is the Google Cloud project of traces, for the form `google`.
    """
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        _add_context(service),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        replace_exception,
        redact_secrets_and_cut_texts,
    ]
    render: list[Processor] = [structlog.dev.ConsoleRenderer()] if form == "console" else [_as_json]
    if form == "google":
        render.insert(0, google_log_processor(project, version("aex-runtime")))
    number = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[*shared, *render],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(cast(TextIO, _SafeStream(sys.stderr))),
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


class _SafeStream:
    """A stream that ignores write errors: a full disk behind the log must not fail other work."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text; drop it if the stream fails."""
        with suppress(OSError, ValueError):  # full or broken; closed
            return self._stream.write(text)
        return 0

    def flush(self) -> None:
        """Flush the stream; ignore a failure."""
        with suppress(OSError, ValueError):
            self._stream.flush()


def _add_context(service: str) -> Processor:
    def add(_logger: Any, _method: str, event: Event) -> Event:
        event.setdefault("service", service)
        found = trace.get_current_span().get_span_context()
        if found.is_valid:
            event["trace_id"] = trace.format_trace_id(found.trace_id)
        return event

    return add


_ENCODER = json.JSONEncoder(separators=(",", ":"), default=str)


def _as_json(_logger: Any, _method: str, event: Event) -> str:
    return _ENCODER.encode(event)


def log_context(subject: str, data: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Return the valid ids of contract, work, attempt and hold in an event or a timer, as log fields."""
    return {
        name.removeprefix("aex."): value
        for name, value in build_span_attributes_of_message_ids(subject, data or {}).items()
    }


def describe_failure(error: BaseException) -> str:
    """Return an exception's type and the line that raised it, or a domain error's code.

    The message is omitted, because libraries quote input in it, which may be evaluation data.
    """
    kind = type(error).__name__
    if isinstance(error, DomainError):
        return f"{kind} {error.code}"
    frames = extract_tb(error.__traceback__)
    if not frames:
        return kind
    last = frames[-1]
    return f"{kind} at {PurePath(last.filename).name}:{last.lineno} in {last.name}"
