"""Claimed values as their agent wrote them: how many decimals a number has is part of the claim."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from aex_models.canonical import canonical_bytes
from aex_models.numbers import JsonFloat, is_number

_MAX_TEXT = 40
"""No number that a double holds needs more; of a longer one the shortest text of its double counts."""


def claim_texts(claims: Mapping[str, Any], kept: Mapping[str, str] | None = None) -> dict[str, str]:
    """The text of each claim, a number's or `null`; `kept`: of those that come from a store, which has no texts."""
    return {name: (kept or {}).get(name) or _text(value) for name, value in claims.items()}


def texts_to_keep(claims: Mapping[str, Any]) -> dict[str, str]:
    """The texts that a store would not give back: 11.170 is 11.17 to it, and 5.0 is 5."""
    texts = {name: (_text(value), _stored(value)) for name, value in claims.items()}
    return {name: own for name, (own, stored) in texts.items() if own != stored}


def claims_restored(claims: Mapping[str, Any], kept: Mapping[str, str]) -> dict[str, Any]:
    """Claims that were stored as numbers, with the texts that were kept beside them."""
    return {name: _restored(value, kept.get(name)) for name, value in claims.items()}


def spelled_otherwise(claims: Mapping[str, Any]) -> dict[str, str]:
    """The claims with more, or fewer, digits than their number needs: 11.170 and 5.0, but not 1e-3.

    Each as its digits and its exponent, which is all that a verdict reads of a text.
    """
    numbers = {name: value for name, value in claims.items() if is_number(value)}
    forms = {name: (_form(_text(value)), _form(_stored(value))) for name, value in numbers.items()}
    return {name: own for name, (own, stored) in forms.items() if own != stored}


def _text(value: Any) -> str:
    own = value.text if isinstance(value, JsonFloat) else ""
    if 0 < len(own) <= _MAX_TEXT:
        return own
    return repr(float(value)) if isinstance(value, float) else _stored(value)


def _stored(value: Any) -> str:
    return canonical_bytes(value).decode()


def _form(text: str) -> str:
    _, digits, exponent = Decimal(text).as_tuple()
    return f"{''.join(map(str, digits))}e{exponent}"


def _restored(value: Any, text: str | None) -> Any:
    """A text of another number, which somebody has put there, is none of this claim."""
    try:
        number = JsonFloat(text or "")
    except ValueError:
        return value
    return number if number == value else value
