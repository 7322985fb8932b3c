"""Money: `Decimal` in code, strings in JSON, integer micro-units (10⁻⁶) in storage. Never a binary float."""

import re
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema
from pydantic_core import PydanticCustomError

from aex_models.numbers import JsonFloat

MICROS = 1_000_000
MAX_AMOUNT = Decimal(1_000_000_000)
"""The largest single amount. In micros it stays below 2⁵³, so that every JSON reader holds it exactly."""

ZERO = Decimal(0)
_MICRO = Decimal(1).scaleb(-6)
_PLAIN = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,6})?", re.ASCII)
_HINT = 'write plain digits with at most 6 decimals, for example "0.25"'


def parse_amount(value: Any) -> Decimal:
    """Read a signed amount from a string, an integer, a `Decimal` or a JSON number's own text.

    Raises `PydanticCustomError` (a `ValueError`) for exponents, underscores, more than six decimals,
    booleans, NaN, infinities and amounts beyond `MAX_AMOUNT`.
    """
    text = _amount_text(value)
    if text is None or not _PLAIN.fullmatch(text):
        raise PydanticCustomError("invalid_money", "Not an amount of money: {hint}", {"hint": _HINT})
    amount = Decimal(text)
    if abs(amount) > MAX_AMOUNT:
        raise PydanticCustomError("money_too_large", "Amounts are at most {limit}", {"limit": str(MAX_AMOUNT)})
    return amount or ZERO  # −0 is 0


def _amount_text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, JsonFloat):
        return value.text
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return str(value) if abs(value) <= MAX_AMOUNT else None
    if isinstance(value, Decimal) and value.is_finite():
        return f"{value.normalize() if value.as_tuple().exponent < -6 else value:f}"  # type: ignore[operator]
    if isinstance(value, float):
        # A float made in Python has no text of its own; its shortest exact one is what its author wrote.
        return f"{Decimal(repr(value)):f}" if value == value and abs(value) < 1e15 else None  # noqa: PLR0124
    return None


def format_amount(amount: Decimal) -> str:
    """Write an amount in plain digits: at least two decimals, at most six, `0.25`, `10.00`, `0.000001`."""
    whole, _, decimals = f"{amount.quantize(_MICRO):f}".partition(".")
    decimals = decimals.rstrip("0").ljust(2, "0")
    return "0.00" if amount == 0 else f"{whole}.{decimals}"


def to_micros(amount: Decimal) -> int:
    """The amount in integer micro-units. Raises `ValueError` where it has more than six decimals."""
    micros = amount * MICROS
    if micros != micros.to_integral_value():
        raise ValueError(f"{amount} has more than six decimals")
    return int(micros)


def from_micros(micros: int) -> Decimal:
    """The exact amount of so many micro-units."""
    return (Decimal(micros) / MICROS) if abs(micros) < 10**20 else Decimal(micros).scaleb(-6)


_SCHEMA = WithJsonSchema(
    {"type": "string", "pattern": r"^-?[0-9]{1,15}(\.[0-9]{1,6})?$", "examples": ["0.25"]},
    mode="serialization",
)
_INPUT_SCHEMA = WithJsonSchema(
    {
        "anyOf": [
            {"type": "string", "pattern": r"^[0-9]{1,10}(\.[0-9]{1,6})?$"},
            {"type": "number", "minimum": 0, "maximum": float(MAX_AMOUNT)},
        ],
        "examples": ["0.25"],
    },
    mode="validation",
)
_AS_TEXT = PlainSerializer(format_amount, return_type=str, when_used="json")

Money = Annotated[Decimal, BeforeValidator(parse_amount), Field(ge=0), _AS_TEXT, _SCHEMA, _INPUT_SCHEMA]
"""An amount that is never negative."""

SignedMoney = Annotated[Decimal, BeforeValidator(parse_amount), _AS_TEXT, _SCHEMA]
"""An amount of either sign."""

Rate = Annotated[Decimal, BeforeValidator(parse_amount), Field(ge=0, le=1), _AS_TEXT, _SCHEMA, _INPUT_SCHEMA]
"""A share of an amount, from 0 to 1, with at most six decimals."""

Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
"""An ISO 4217 code."""
