"""What pydantic says of a document that came as JSON, in JSON's words and at the document's places."""

from collections.abc import Mapping
from typing import Any

_TYPES = {
    **dict.fromkeys(("tuple_type", "list_type", "set_type", "frozen_set_type", "iterable_type"), "an array"),
    **dict.fromkeys(
        ("dict_type", "mapping_type", "model_type", "model_attributes_type", "dataclass_type"), "an object"
    ),
    "none_required": "null",
}
_HOLDERS = {"Tuple": "Array", "List": "Array", "Set": "Array", "Frozenset": "Array", "Dictionary": "Object"}
_OF_MEMBER = "invalid_claim"
"""An error of one member of a mapping, which pydantic places at the mapping; its context names the member."""


def place_of(error: Mapping[str, Any]) -> tuple[int | str, ...]:
    """Where an error (of `ValidationError.errors()`) lies: pydantic's location, down to the member that it is about."""
    location: tuple[int | str, ...] = tuple(error["loc"])
    member = _member(error)
    return location if member is None else (*location, member.replace("~1", "/").replace("~0", "~"))


def words_of(error: Mapping[str, Any]) -> str:
    """Its message: arrays, objects and null for Python's tuples, dictionaries and None."""
    message, kind = str(error["msg"]), error["type"]
    if kind in _TYPES:
        return f"Expected {_TYPES[kind]}"
    member = _member(error)
    if member is not None:
        message = message.removeprefix(f"/{member}: ")
        return message[:1].upper() + message[1:]
    holder, _, rest = message.partition(" ")
    return f"{_HOLDERS[holder]} {rest}" if kind in {"too_long", "too_short"} and holder in _HOLDERS else message


def _member(error: Mapping[str, Any]) -> str | None:
    """As a segment of a JSON pointer."""
    name = error.get("ctx", {}).get("name") if error["type"] == _OF_MEMBER else None
    return name if isinstance(name, str) else None
