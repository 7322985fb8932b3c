"""Messages for pydantic's validation errors in the terms of JSON, with suggestions for misspelt names."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel

_TYPES = {
    **dict.fromkeys(("tuple_type", "list_type", "set_type", "frozen_set_type", "iterable_type"), "an array"),
    **dict.fromkeys(
        ("dict_type", "mapping_type", "model_type", "model_attributes_type", "dataclass_type"), "an object"
    ),
    "none_required": "null",
}
_CONTAINERS = {"Tuple": "Array", "List": "Array", "Set": "Array", "Frozenset": "Array", "Dictionary": "Object"}
_OF_MEMBER = "invalid_claim"
"""Type of an error in a member of a mapping. Pydantic gives the mapping as its location."""
MAX_EDITS = 2
"""Largest number of inserted, deleted or replaced characters at which a name is suggested. Case is ignored."""


def build_error_location(error: Mapping[str, Any]) -> tuple[int | str, ...]:
    """Return the keys and indexes from the root to the value of an error of `ValidationError.errors()`.

    For an error in a member of a mapping, the member's name is included.
    """
    location: tuple[int | str, ...] = tuple(error["loc"])
    member = _member(error)
    return location if member is None else (*location, member.replace("~1", "/").replace("~0", "~"))


def message_of(error: Mapping[str, Any], model: Any = None) -> str:
    """Return the message of an error of `ValidationError.errors()` in the terms of JSON.

    The message says array, object and null. It suggests a name for a misspelt field or a misspelt word of an
    enumeration. `model`: the type that was validated, for the names of its fields.
    """
    message, kind = str(error["msg"]), error["type"]
    if kind == "extra_forbidden":
        return format_unknown_field_message(error["loc"], model)
    if kind in {"enum", "literal_error"}:
        return message + _suggest_word(error)
    if kind in _TYPES:
        return f"Expected {_TYPES[kind]}"
    member = _member(error)
    if member is not None:
        message = message.removeprefix(f"/{member}: ")
        return message[:1].upper() + message[1:]
    container, _, rest = message.partition(" ")
    name = _CONTAINERS.get(container) if kind in {"too_long", "too_short"} else None
    return f"{name} {rest}" if name else message


def format_unknown_field_message(location: Sequence[int | str], model: Any) -> str:
    """Return the message for an unknown field, with the closest known name or else all known names.

    `location`: the keys and indexes from the root of `model` to the unknown field.
    """
    name, known = str(location[-1]), _find_fields(location[:-1], model)
    suggestion = format_suggestion(name, known)
    fields = f"; known here: {', '.join(known)}" if known and not suggestion else ""
    return f"There is no such field{suggestion or fields}"


def _find_fields(location: Sequence[int | str], model: Any) -> tuple[str, ...]:
    """Return the names of the fields that may follow `location` in `model`.

    A segment that is no field, such as an index or the branch of a union, is skipped.
    """
    kinds = list(_find_models(model))
    for segment in location:
        inner = [each for kind in kinds for each in _find_models_of_field(kind, segment)]
        kinds = inner or kinds
    return tuple(dict.fromkeys(field.alias or name for kind in kinds for name, field in kind.model_fields.items()))


def _find_models_of_field(model: type[BaseModel], segment: int | str) -> Iterator[type[BaseModel]]:
    for name, field in model.model_fields.items():
        if segment in (name, field.alias):
            yield from _find_models(field.annotation)


def _find_models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the pydantic models within a type annotation, such as those of a list or a union."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _find_models(part)


def _suggest_word(error: Mapping[str, Any]) -> str:
    given = error.get("input")
    words = re.findall(r"'([^']+)'", str(error.get("ctx", {}).get("expected", "")))
    return format_suggestion(given, words) if isinstance(given, str) else ""


def _member(error: Mapping[str, Any]) -> str | None:
    name = error.get("ctx", {}).get("name") if error["type"] == _OF_MEMBER else None
    return name if isinstance(name, str) else None


def find_closest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name with the fewest edits from `name`; None if all need more than `MAX_EDITS`.

    Differences of case are no edits, but decide between equal counts: for `rougel` the result is `rougeL`, not
    `rouge1`. A name must have more than two characters for each edit: two edits make `mape` of `nope`.
    """
    ranked = ((rank, each) for each in known if (rank := _rank(name, each)) is not None)
    return min(ranked, key=lambda found: found[0], default=(None, None))[1]


def format_suggestion(name: str, known: Iterable[str]) -> str:
    """Return a suffix for a message, such as `; did you mean rougeL?`; empty if no known name is close."""
    closest = find_closest_name(name, known)
    return "" if closest is None else f"; did you mean {closest}?"


def _rank(name: str, known: str) -> tuple[int, int] | None:
    if abs(len(name) - len(known)) > MAX_EDITS:  # before a copy of a hostile name in lower case
        return None
    edits = _count_edits(name.lower(), known.lower(), MAX_EDITS)
    if edits is None or 2 * edits >= len(name or known):
        return None
    return edits, sum(left != right for left, right in zip(name, known, strict=False))


def _count_edits(left: str, right: str, most: int) -> int | None:
    """Return the number of edits from one text to the other; None above `most`.

    It compares at most `3 ** most` pairs of suffixes.
    """
    if abs(len(left) - len(right)) > most:
        return None
    start = next((at for at, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]), None)
    if start is None:
        return abs(len(left) - len(right))
    if most == 0:
        return None
    left, right = left[start:], right[start:]
    steps = (left[1:], right[1:]), (left[1:], right), (left, right[1:])
    found = [each for pair in steps if (each := _count_edits(*pair, most - 1)) is not None]
    return min(found) + 1 if found else None
