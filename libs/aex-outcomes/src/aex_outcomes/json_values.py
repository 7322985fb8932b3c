"""JSON pointers (RFC 6901), the nesting depth of JSON, and the decimals, which are part of a claim."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any, Final

from pydantic import BaseModel

from aex_models.canonical import canonical_bytes, escape_pointer_segment
from aex_models.numbers import JsonFloat, is_finite_number


class MissingValue:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = MissingValue()
"""Marker of a pointer without a value; None would be a JSON null."""
MAX_DEPTH = 63
"""Levels of outputs, queries, messages and metadata: a request's, less the level of the output."""
MAX_RESULT_DEPTH = 128
"""Levels of final results, which often hold the output; pydantic reads some 190."""
_CONTAINERS = (dict, list, tuple, BaseModel)
_MAX_TEXT = 40
"""Characters of a claim's text; a longer one is replaced by the shortest text of its double."""


def is_pointer(text: str) -> bool:
    """Return True for a JSON pointer: empty, or segments that each begin with a slash."""
    bad_escape = text.replace("~0", "").replace("~1", "").count("~")
    return (not text or text.startswith("/")) and not bad_escape


def resolve_pointer(document: Any, pointer: str) -> Any:
    """Return the value at the pointer, or `MISSING`. The empty pointer is the document."""
    found = document
    for segment in pointer.split("/")[1:]:
        key = segment.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and key in found:
            found = found[key]
        elif isinstance(found, Sequence) and not isinstance(found, str | bytes) and _is_index(key, len(found)):
            found = found[int(key)]
        else:
            return MISSING
    return found


def _is_index(key: str, length: int) -> bool:
    return key.isascii() and key.isdigit() and (key == "0" or key[0] != "0") and len(key) < 10 and int(key) < length


def join_pointer(*segments: str | int) -> str:
    """Return the pointer of keys and positions."""
    return "".join(f"/{escape_pointer_segment(str(segment))}" for segment in segments)


def claim_texts(claims: Mapping[str, Any], kept: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the text of each claim, a number's or `null`; `kept`: the texts of stored claims."""
    return {name: (kept or {}).get(name) or _text(value) for name, value in claims.items()}


def lossy_claim_texts(claims: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts that a store does not preserve: 11.170 becomes 11.17, and 5.0 becomes 5."""
    return {name: _text(value) for name, value in claims.items() if _text(value) != _canonical_text(value)}


def restore_claims(claims: Mapping[str, Any], kept: Mapping[str, str]) -> dict[str, Any]:
    """Return claims that were stored as numbers, with the texts stored beside them."""
    restored = dict(claims)
    for name, value in claims.items():
        with suppress(ValueError):  # no text, or no number's
            number = JsonFloat(kept.get(name) or "")
            restored[name] = number if number == value else value
    return restored


def noncanonical_spellings(claims: Mapping[str, Any]) -> dict[str, str]:
    """Return the claims with more or fewer digits than their number needs: 11.170 and 5.0, but not 1e-3.

    Each is written as its digits and its exponent, which is all that a verdict reads.
    """
    numbers = {name: value for name, value in claims.items() if is_finite_number(value)}
    forms = {
        name: (_number_form(_text(value)), _number_form(_canonical_text(value))) for name, value in numbers.items()
    }
    return {name: text for name, (text, stored) in forms.items() if text != stored}


def _text(value: Any) -> str:
    text = value.text if isinstance(value, JsonFloat) else ""
    if 0 < len(text) <= _MAX_TEXT:
        return text
    return repr(float(value)) if isinstance(value, float) else _canonical_text(value)


def _canonical_text(value: Any) -> str:
    return canonical_bytes(value).decode()


def _number_form(text: str) -> str:
    _, digits, exponent = Decimal(text).as_tuple()
    return f"{''.join(map(str, digits))}e{exponent}"


def too_deep(value: Any, limit: int = MAX_DEPTH) -> str | None:
    """Return the JSON pointer to the first container that is nested deeper than the limit, or None.

    The search goes by level and visits each container once in a level, so it ends for cyclic values too.
    """
    levels = [_containers([value])]
    while levels[-1]:
        if len(levels) > limit:
            return _pointer(levels)
        levels.append(_containers(child for each in levels[-1].values() for _, child in _members(each)))
    return None


def _containers(values: Iterable[Any]) -> dict[int, Any]:
    return {id(each): each for each in values if isinstance(each, _CONTAINERS)}


def _members(container: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(container, dict):
        return container.items()
    if isinstance(container, BaseModel):
        return {**container.__dict__, **(container.__pydantic_extra__ or {})}.items()
    return enumerate(container)


def _pointer(levels: list[dict[int, Any]]) -> str:
    """Build the pointer upwards from the deepest level's first container."""
    child_id, path = next(iter(levels[-1])), ""
    for level in reversed(levels[:-1]):
        parents = ((each, key) for each in level.values() for key, child in _members(each) if id(child) == child_id)
        parent, key = next(parents)
        child_id, path = id(parent), f"/{escape_pointer_segment(str(key))}{path}"
    return path
