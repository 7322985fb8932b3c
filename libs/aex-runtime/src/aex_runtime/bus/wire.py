"""The encoding of events as messages: CloudEvents 1.0 in binary mode, as in its Pub/Sub binding."""

import json
import math
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from aex_models.events import Event
from aex_runtime.bus.port import Message

_PREFIX = "ce-"
_REQUIRED = ("specversion", "id", "type", "source", "subject", "time")
_TRACE = ("traceparent", "tracestate")
_MEDIA_TYPE = "application/json"
DATAREF = "ce-dataref"
"""Attribute of the CloudEvents extension for data outside of the message."""
_MAX_ATTRIBUTE_BYTES = 1_024
"""Pub/Sub's limit for the value of one attribute."""


class Undecodable(ValueError):
    """A message that is no valid event. The text names attributes and paths, never values."""


def encode_event(event: Event) -> Message:
    """Return the message of an event. A trace state that is too long for an attribute is omitted.

    W3C's rules allow that.
    """
    attributes = {
        "ce-specversion": event.specversion,
        "ce-id": event.id,
        "ce-type": event.type,
        "ce-source": event.source,
        "ce-subject": event.subject,
        "ce-time": event.time.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "content-type": event.datacontenttype,
    }
    for name in _TRACE:
        value = getattr(event, name)
        if value and len(value.encode()) <= _MAX_ATTRIBUTE_BYTES:
            attributes[name] = value
    if event.dataref is not None:
        return Message(attributes | {DATAREF: event.dataref}, b"")
    data = json.dumps(event.data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Message(attributes, data.encode())


def decode_event(message: Message) -> Event:
    """Return the event of a message. Raises `Undecodable`.

    Unknown attributes are ignored. An event whose data are outside of the message has a `dataref` and empty data.
    """
    attributes = message.attributes
    missing = [_PREFIX + name for name in _REQUIRED if _PREFIX + name not in attributes]
    if missing:
        raise Undecodable(f"attributes are missing: {', '.join(missing)}")
    media_type = attributes.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != _MEDIA_TYPE:
        raise Undecodable(f"content-type is not {_MEDIA_TYPE}")
    fields: dict[str, Any] = {name: attributes[_PREFIX + name] for name in _REQUIRED}
    fields |= {name: attributes.get(name) for name in _TRACE}
    has_data = message.data or DATAREF not in attributes
    fields |= {"data": decode_event_data(message.data)} if has_data else {"data": {}, "dataref": attributes[DATAREF]}
    try:
        fields["time"] = datetime.fromisoformat(fields["time"])  # pydantic alone would accept "1700000000" as a time
        return Event.model_validate(fields)
    except ValidationError as error:
        raise Undecodable(describe_validation_error(error)) from None
    except ValueError:
        raise Undecodable("ce-time is not an RFC 3339 time") from None


def describe_validation_error(error: ValidationError) -> str:
    """Return up to five paths and kinds of a pydantic error, no values: `award/cpc_rate: missing; …`."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    texts = [f"{'/'.join(str(part) for part in each['loc'])}: {each['type']}" for each in problems[:5]]
    rest = len(problems) - len(texts)
    return "; ".join(texts) + (f"; and {rest} more" if rest else "")


def decode_event_data(data: bytes) -> dict[str, Any]:
    """Return the JSON object in an event's data. Raises `Undecodable` for anything else."""
    try:
        parsed = json.loads(data.decode(), parse_float=_finite, parse_constant=_finite, object_pairs_hook=_unique)
    except RecursionError:
        raise Undecodable("data is nested too deeply") from None
    except Undecodable:
        raise
    except ValueError:  # bad UTF-8, bad JSON, or an integer of excessive length
        raise Undecodable("data is not JSON in UTF-8") from None
    if not isinstance(parsed, dict):
        raise Undecodable("data is not a JSON object")
    return parsed


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Undecodable("data has an object with a key twice")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise Undecodable("data holds NaN, infinity or a number beyond all bounds")
    return number
