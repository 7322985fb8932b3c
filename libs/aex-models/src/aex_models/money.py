"""Money: `Decimal` in code, strings in JSON, integer micro-units (10⁻⁶) in storage; never a float.

Currencies are the active codes of ISO 4217 (list one, 2026) without XXX, "no currency".
"""

import re
from decimal import ROUND_HALF_EVEN, Context, Decimal, Inexact, InvalidOperation, Overflow
from functools import lru_cache
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema
from pydantic_core import PydanticCustomError

from aex_models.numbers import MAX_SAFE_INTEGER, JsonFloat

MICROS = 1_000_000
MAX_AMOUNT = Decimal(1_000_000_000)
"""The largest single amount: a price, a bonus, a cap. Two of them in micros stay below 2⁵³."""
MAX_TOTAL = Decimal(MAX_SAFE_INTEGER).scaleb(-6)
"""Largest total of a contract: its micros are exact in every JSON reader."""

ZERO = Decimal(0)
_MICRO = Decimal(1).scaleb(-6)
_EXACT = Context(prec=80, rounding=ROUND_HALF_EVEN, traps=[Inexact, InvalidOperation, Overflow])
"""Context that raises instead of rounding, independent of the thread's context."""
_PLAIN = re.compile(r"-?(0|[1-9][0-9]{0,29})(\.[0-9]{1,6})?", re.ASCII)
_HINT = 'write plain digits with at most 6 decimals, for example "0.25"'


def parse_amount(value: Any) -> Decimal:
    """Parse a signed amount of up to `MAX_AMOUNT` from a string, an integer, a float or a `Decimal`.

    A float stands for the text that it was written as.

    Raises `PydanticCustomError` (a `ValueError`) for exponents, underscores, leading zeros, more than six
    decimals, booleans, NaN, infinities and amounts beyond `MAX_AMOUNT`.
    """
    return _parse(value, MAX_AMOUNT)


def parse_amount_or_null(value: Any) -> Decimal:
    """Parse an amount like `parse_amount`; None is 0."""
    return ZERO if value is None else parse_amount(value)


def parse_contract_total(value: Any) -> Decimal:
    """Parse the total of a contract, of up to `MAX_TOTAL`; otherwise like `parse_amount`."""
    return _parse(value, MAX_TOTAL)


def parse_unlimited_amount(value: Any) -> Decimal:
    """Parse a balance, or a sum over many contracts, of up to 30 digits; otherwise like `parse_amount`."""
    return _parse(value, None)


def _parse(value: Any, limit: Decimal | None) -> Decimal:
    amount = _amount(value)
    if amount is None:
        raise PydanticCustomError("invalid_money", "Not an amount of money: {hint}", {"hint": _HINT})
    if limit is not None and amount.copy_abs() > limit:
        raise PydanticCustomError("money_too_large", "Amounts are at most {limit}", {"limit": str(limit)})
    return amount or ZERO  # −0 is 0


def _amount(value: Any) -> Decimal | None:
    if isinstance(value, Decimal):
        return _six_decimals(value)
    text = _amount_text(value)
    return Decimal(text) if text is not None and _PLAIN.fullmatch(text) else None


def _six_decimals(value: Decimal) -> Decimal | None:
    """Return the amount with six decimals; None if it has more of them or is not finite."""
    if not value.is_finite():
        return None
    try:
        return _EXACT.quantize(value, _MICRO)
    except (Inexact, InvalidOperation):
        return None


def _amount_text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, JsonFloat):
        return value.text
    if isinstance(value, int):
        return str(value) if not isinstance(value, bool) and value.bit_length() <= 96 else None
    if isinstance(value, float):
        # A float made in Python has no text of its own; its shortest exact one is what its author wrote.
        return f"{Decimal(float.__repr__(value)):f}" if abs(value) < 1e15 else None
    return None


@lru_cache(maxsize=4_096)  # prices and bonuses are written several times for each work, and mostly the same ones
def format_amount(amount: Decimal) -> str:
    """Return an amount in plain digits with two to six decimals: `0.25`, `10.00`, `0.000001`.

    Raises `decimal.Inexact` for an amount with more than six decimals: printing must not round money.
    """
    if amount == 0:
        return "0.00"
    integer, _, decimals = f"{_EXACT.quantize(amount, _MICRO):f}".partition(".")
    return f"{integer}.{decimals.rstrip('0').ljust(2, '0')}"


def to_micros(amount: Decimal) -> int:
    """Return the amount in integer micro-units. Raises `ValueError` if it has more than six decimals."""
    exact = _six_decimals(amount)
    if exact is None:
        raise ValueError(f"{amount} is not an amount with at most six decimals")
    return int(exact.scaleb(6, _EXACT))


def from_micros(micros: int) -> Decimal:
    """Return the amount of `micros` micro-units (10⁻⁶), exactly."""
    return Decimal(micros).scaleb(-6, _EXACT)


def multiply_by_rate(amount: Decimal, rate: Decimal) -> Decimal:
    """Return `amount × rate`, both with at most six decimals, rounded half-even to a micro."""
    product = to_micros(amount) * to_micros(rate)
    integer, rest = divmod(product, MICROS)
    up = rest * 2 > MICROS or (rest * 2 == MICROS and integer % 2 == 1)
    return from_micros(integer + up)


_SCHEMA = WithJsonSchema(
    {"type": "string", "pattern": r"^-?(0|[1-9][0-9]{0,29})(\.[0-9]{1,6})?$", "examples": ["0.25"]},
    mode="serialization",
)


def _input_schema(pattern: str, maximum: Decimal, example: str, *further: dict[str, Any]) -> WithJsonSchema:
    number = {"type": "number", "minimum": 0, "maximum": float(maximum), "multipleOf": float(_MICRO)}
    return WithJsonSchema(
        {"anyOf": [{"type": "string", "pattern": pattern}, number, *further], "examples": [example]}, mode="validation"
    )


_AMOUNT_PATTERN = r"^((0|[1-9][0-9]{0,8})(\.[0-9]{1,6})?|1000000000(\.0{1,6})?)$"
_AMOUNT_INPUT = _input_schema(_AMOUNT_PATTERN, MAX_AMOUNT, "0.25")
_AMOUNT_OR_NULL_INPUT = _input_schema(_AMOUNT_PATTERN, MAX_AMOUNT, "0.25", {"type": "null"})
_RATE_INPUT = _input_schema(r"^(0(\.[0-9]{1,6})?|1(\.0{1,6})?)$", Decimal(1), "0.05")
_AS_TEXT = PlainSerializer(format_amount, return_type=str, when_used="json")

Money = Annotated[Decimal, BeforeValidator(parse_amount), Field(ge=0), _AS_TEXT, _SCHEMA, _AMOUNT_INPUT]
"""A single amount that is never negative."""

MoneyOrNull = Annotated[
    Decimal, BeforeValidator(parse_amount_or_null), Field(ge=0), _AS_TEXT, _SCHEMA, _AMOUNT_OR_NULL_INPUT
]
"""A single amount that is never negative; null is 0."""

TotalMoney = Annotated[Decimal, BeforeValidator(parse_contract_total), Field(ge=0), _AS_TEXT, _SCHEMA]
"""The total of a contract: a sum of single amounts, never negative."""

SignedMoney = Annotated[Decimal, BeforeValidator(parse_amount), _AS_TEXT, _SCHEMA]
"""A single amount of either sign."""

SumMoney = Annotated[Decimal, BeforeValidator(parse_unlimited_amount), _AS_TEXT, _SCHEMA]
"""A balance, or a sum over any number of contracts."""

Rate = Annotated[Decimal, BeforeValidator(parse_amount), Field(ge=0, le=1), _AS_TEXT, _SCHEMA, _RATE_INPUT]
"""A share of an amount, from 0 to 1, with at most six decimals."""

Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
"""An ISO 4217 code."""


_CODES = (
    "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD "
    "CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL "
    "GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW "
    "KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD "
    "NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP "
    "SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS "
    "VED VES VND VUV WST XAD XAF XAG XAU XBA XBB XBC XBD XCD XCG XDR XOF XPD XPF XPT XSU XTS XUA YER ZAR "
    "ZMW ZWG "
)
ISO_4217 = frozenset(_CODES.split())


def _check_code(code: str) -> str:
    if code not in ISO_4217:
        raise PydanticCustomError("unknown_currency", "{code} is no ISO 4217 currency", {"code": code})
    return code


AgreedCurrency = Annotated[Currency, AfterValidator(_check_code)]
"""A code of ISO 4217. Input uses this type; stored codes were checked when they arrived."""
