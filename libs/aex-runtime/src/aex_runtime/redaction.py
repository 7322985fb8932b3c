"""What never reaches a log line: credentials, and messages of exceptions that may quote what was sent."""

import re
import sys
import traceback
from collections.abc import Mapping, MutableMapping
from functools import lru_cache
from math import isfinite
from typing import Any

Event = MutableMapping[str, Any]

REDACTED = "[redacted]"
_SECRET_NAMES = re.compile(
    r"(?i)authorization|cookie|passw|secret|credential|private_?key|api_?key|(^|_)token$|evaluation$"
)
_BEARER = re.compile(r"(?i)\bbearer\s+\S+")
_JWT = re.compile(r"\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*")
_MAX_TEXT = 2_000
_MAX_FRAMES = 30
_MAX_LINKS = 30


def redact(_logger: Any, _method: str, event: Event) -> Event:
    """A structlog processor: hides values under secret names, tokens inside texts, and the tails of long texts."""
    for name, value in event.items():
        if _is_secret(name):
            event[name] = REDACTED
        elif not isinstance(value, int):
            event[name] = _clean(value)
    return event


def without_messages(_logger: Any, _method: str, event: Event) -> Event:
    """A structlog processor: an exception as its types and frames. Its message stays out: it may quote content."""
    found = event.pop("exc_info", None)
    if found is True:
        found = sys.exc_info()[1]
    elif isinstance(found, tuple):
        found = found[1]
    if isinstance(found, BaseException):
        event["traceback"] = describe(found)
    return event


def describe(error: BaseException) -> list[dict[str, Any]]:
    """An exception, its causes and the members of a group, outermost first: type and frames (`file:line function`)."""
    chain: list[dict[str, Any]] = []
    seen: set[int] = set()
    waiting = [error]
    while waiting and len(chain) < _MAX_LINKS:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        frames = traceback.extract_tb(current.__traceback__)[-_MAX_FRAMES:]
        kind = type(current)
        chain.append(
            {
                "type": f"{kind.__module__}.{kind.__qualname__}",
                "frames": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
            }
        )
        if isinstance(current, BaseExceptionGroup):
            waiting += current.exceptions
        cause = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
        waiting += [cause] if cause is not None else []
    return chain


@lru_cache(maxsize=1_024)  # names of log fields are few and come again with each line
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
        return str(value)  # JSON has none: what reads the line would take all of it for text, and see no alarm
    return value


def _clean_text(text: str) -> str:
    shown = text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"
    if "eyJ" in shown or "earer" in shown or "EARER" in shown:
        shown = _JWT.sub(REDACTED, _BEARER.sub(f"Bearer {REDACTED}", shown))
    return shown
