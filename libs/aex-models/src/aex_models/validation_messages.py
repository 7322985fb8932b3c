"""Pydantic's errors for JSON documents: messages in JSON's terms, locations in the document."""

from collections.abc import Mapping
from typing import Any

_TYPES = {
    **dict.fromkeys(("tuple_type", "list_type", "set_type", "frozen_set_type", "iterable_type"), "an array"),
    **dict.fromkeys(
        ("dict_type", "mapping_type", "model_type", "model_attributes_type", "dataclass_type"), "an object"
    ),
    "none_required": "null",
}
_CONTAINERS = {"Tuple": "Array", "List": "Array", "Set": "Array", "Frozenset": "Array", "Dictionary": "Object"}
_OF_MEMBER = "invalid_claim"
"""Type of an error in a member of a mapping; pydantic locates it at the mapping."""


def error_location(error: Mapping[str, Any]) -> tuple[int | str, ...]:
    """Return the location of an error of `ValidationError.errors()`, down to the member."""
    location: tuple[int | str, ...] = tuple(error["loc"])
    member = _member(error)
    return location if member is None else (*location, member.replace("~1", "/").replace("~0", "~"))


def message_of(error: Mapping[str, Any]) -> str:
    """Return the message with arrays, objects and null instead of tuples, dictionaries and None."""
    message, kind = str(error["msg"]), error["type"]
    if kind in _TYPES:
        return f"Expected {_TYPES[kind]}"
    member = _member(error)
    if member is not None:
        message = message.removeprefix(f"/{member}: ")
        return message[:1].upper() + message[1:]
    container, _, rest = message.partition(" ")
    name = _CONTAINERS.get(container) if kind in {"too_long", "too_short"} else None
    return f"{name} {rest}" if name else message


def _member(error: Mapping[str, Any]) -> str | None:
    name = error.get("ctx", {}).get("name") if error["type"] == _OF_MEMBER else None
    return name if isinstance(name, str) else None
