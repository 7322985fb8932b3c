"""JSON pointers (RFC 6901), the nesting depth of JSON values, and the texts of claimed numbers.

The text of a claimed number matters: 11.170 claims three decimals, which its JSON number 11.17 does not keep.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any, Final

from pydantic import BaseModel

from aex_models.canonical import canonical_bytes, escape_pointer_segment
from aex_models.numbers import JsonFloat, is_finite_number


class MissingValue:
    """Type of `MISSING`."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = MissingValue()
"""Result of a pointer to no value; None is a JSON null."""
MAX_DEPTH = 63
"""Maximum levels of outputs, queries, messages and metadata: one less than of a request, which contains them."""
MAX_RESULT_DEPTH = 128
"""Maximum levels of final results, which often contain the output; pydantic reads some 190."""
_CONTAINERS = (dict, list, tuple, BaseModel)
_MAX_TEXT = 40
"""Maximum characters of a claim's text; a longer one is replaced by the shortest text of its number."""


def resolve_pointer(document: Any, pointer: str) -> Any:
    """Return the value at the JSON pointer, or `MISSING`. An empty pointer gives the document."""
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


def resolve_first_pointer(document: Any, *pointers: str | None) -> Any:
    """Return the value at the first JSON pointer that is not None; None if the value is absent or null."""
    pointer = next(each for each in pointers if each is not None)
    return None if (found := resolve_pointer(document, pointer)) is MISSING else found


def _is_index(key: str, length: int) -> bool:
    return key.isascii() and key.isdigit() and (key == "0" or key[0] != "0") and len(key) < 10 and int(key) < length


def join_pointer(*segments: str | int) -> str:
    """Return the JSON pointer with these keys and list positions, which are escaped."""
    return "".join(f"/{escape_pointer_segment(str(segment))}" for segment in segments)


def format_claim_texts(claims: Mapping[str, Any], stored_texts: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return each claim as text: the number as the agent wrote it, or `null`.

    A number written with more than 40 characters gets its shortest text.
    `stored_texts`: texts that were stored beside the claims; they take precedence.
    """
    return {name: (stored_texts or {}).get(name) or _text(value) for name, value in claims.items()}


def find_claim_texts_lost_in_storage(claims: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts of the claims whose text storage as JSON changes: 11.170 to 11.17, 5.0 to 5."""
    return {name: _text(value) for name, value in claims.items() if _text(value) != _canonical_text(value)}


def restore_claim_texts(claims: Mapping[str, Any], stored_texts: Mapping[str, str]) -> dict[str, Any]:
    """Return stored claims, in which numbers have their original texts again (as `JsonFloat`).

    `stored_texts`: result of `find_claim_texts_lost_in_storage`. A text that is not equal to its number is ignored.
    """
    restored = dict(claims)
    for name, value in claims.items():
        with suppress(ValueError):  # no text, or no number's
            number = JsonFloat(stored_texts.get(name) or "")
            restored[name] = number if number == value else value
    return restored


def find_noncanonical_spellings(claims: Mapping[str, Any]) -> dict[str, str]:
    """Return the claims written with other digits than their number needs: 11.170 and 5.0, not 1e-3.

    A claim is given as its digits and its exponent (`11170e-3`), which is all that a verdict reads of its text.
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


def find_pointer_beyond_depth(value: Any, max_depth: int = MAX_DEPTH) -> str | None:
    """Return the JSON pointer to the first container nested beyond `max_depth` levels; None if none is.

    The search goes level by level and visits each container once in a level, so that it ends for cyclic values too.
    """
    levels = [_containers([value])]
    while levels[-1]:
        if len(levels) > max_depth:
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
    """Return the pointer to the first container of the deepest level."""
    child_id, path = next(iter(levels[-1])), ""
    for level in reversed(levels[:-1]):
        parents = ((each, key) for each in level.values() for key, child in _members(each) if id(child) == child_id)
        parent, key = next(parents)
        child_id, path = id(parent), f"/{escape_pointer_segment(str(key))}{path}"
    return path
