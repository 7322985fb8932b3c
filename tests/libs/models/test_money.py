"""Money is read from its own digits, kept exactly, and written back in plain digits."""

import re
from decimal import Decimal, Inexact, localcontext
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from aex_models.money import (
    MAX_AMOUNT,
    MAX_TOTAL,
    Money,
    Rate,
    SignedMoney,
    SumMoney,
    TotalMoney,
    format_amount,
    from_micros,
    multiply_by_rate,
    parse_amount,
    parse_unlimited_amount,
    to_micros,
)
from aex_models.numbers import MAX_SAFE_INTEGER, JsonFloat

money: TypeAdapter[Decimal] = TypeAdapter(Money)
any_micros = st.integers(-(10**15), 10**15)


@given(any_micros)
@example(0)
@example(-1)
@example(10**15)
def test_amount_survives_writing_and_reading(micros: int) -> None:
    assert to_micros(parse_unlimited_amount(format_amount(from_micros(micros * 10**13)))) == micros * 10**13
    text = format_amount(from_micros(micros))
    assert Fraction(text) == Fraction(micros, 10**6)
    assert re.fullmatch(r"-?[0-9]+\.[0-9]{2,6}", text)
    assert re.search(TypeAdapter(SignedMoney).json_schema(mode="serialization")["pattern"], text)
    assert to_micros(parse_amount(text)) == micros


@given(st.integers(0, 10**15), st.integers(0, 10**6))
@example(500_000, 1)
@example(1_500_000, 1)
@example(2_500_000, 1)
def test_share_is_rounded_half_even_to_a_micro(amount: int, rate: int) -> None:
    exact = Fraction(amount, 10**6) * Fraction(rate, 10**6)
    assert to_micros(multiply_by_rate(from_micros(amount), from_micros(rate))) == round(exact * 10**6)


@pytest.mark.parametrize(
    ("given_as", "amount"),
    [
        ("0.25", "0.25"),
        ("-3", "-3"),
        ("1000000000.000000", "1000000000"),
        ("-0", "0"),
        (7, "7"),
        (JsonFloat("0.1"), "0.1"),
        (JsonFloat("123456789.123456"), "123456789.123456"),
        (0.1, "0.1"),
        (Decimal("1.5000000000"), "1.5"),
        (Decimal("2E+3"), "2000"),
    ],
)
def test_amount_is_read_from_its_own_digits(given_as: Any, amount: str) -> None:
    read = parse_amount(given_as)
    assert read == Decimal(amount)
    assert not (read == 0 and read.is_signed())


@pytest.mark.parametrize(
    "value",
    [
        "", " 1", "1 ", "1\n", "+1", ".5", "1.", "1e3", "1E-2", "1_000", "1,000", "0x10", "٣", "007", "1.2345678",
        "0.2500000", "NaN", "Infinity", "--1", "1.2.3", "$1",
        *map(JsonFloat, ("1e3", "1E-2", "0.2500000", "NaN", "Infinity")),
        True, None, [], {}, b"1", float("nan"), float("inf"), -float("inf"), 1e300, 1e-7, 10**400,
        Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity"), Decimal("0.0000001"), Decimal("1E+999999"),
        Decimal("1E-999999"), Decimal("1." + "0" * 40 + "1"),
    ],
)  # fmt: skip
def test_value_without_a_plain_amount_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="Not an amount of money"):
        parse_amount(value)


@pytest.mark.parametrize("value", ["1000000000.000001", "-1000000001", 10**10, Decimal("1E+12"), 1e12])
def test_amount_above_the_limit_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="at most 1000000000"):
        parse_amount(value)


def test_largest_total_fits_into_a_safe_integer() -> None:
    assert to_micros(MAX_TOTAL) == MAX_SAFE_INTEGER
    assert to_micros(2 * MAX_AMOUNT) <= MAX_SAFE_INTEGER
    total: TypeAdapter[Decimal] = TypeAdapter(TotalMoney)
    assert total.validate_python("9007199254.740991") == MAX_TOTAL
    with pytest.raises(ValidationError, match="at most"):
        total.validate_python("9007199254.740992")


def test_balance_has_a_sign_and_no_limit() -> None:
    balance: TypeAdapter[Decimal] = TypeAdapter(SumMoney)
    text = b'"-123456789012345678901234.123456"'
    assert balance.dump_json(balance.validate_json(text)) == text
    signed: TypeAdapter[Decimal] = TypeAdapter(SignedMoney)
    assert signed.dump_json(signed.validate_python("-2.5")) == b'"-2.50"'


@pytest.mark.parametrize("adapter", [TypeAdapter(Money), TypeAdapter(TotalMoney), TypeAdapter(Rate)])
def test_money_is_never_negative(adapter: TypeAdapter[Decimal]) -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        adapter.validate_python("-0.01")


def test_rate_lies_between_0_and_1() -> None:
    rate: TypeAdapter[Decimal] = TypeAdapter(Rate)
    assert rate.validate_python("1.000000") == 1
    with pytest.raises(ValidationError, match="less than or equal to 1"):
        rate.validate_python("1.000001")


def test_json_carries_money_as_a_string_and_python_as_a_decimal() -> None:
    assert money.dump_json(Decimal(10)) == b'"10.00"'
    assert money.dump_python(Decimal(10)) == Decimal(10)
    assert {format_amount(Decimal(text)) for text in ("7.1", "7.10", "7.100000", "71E-1")} == {"7.10"}


@given(any_micros)
def test_context_precision_leaves_money_exact(micros: int) -> None:
    with localcontext() as context:
        context.prec = 2
        amount = from_micros(micros)
        assert to_micros(amount) == micros
        assert parse_amount(format_amount(amount)) == amount
        assert multiply_by_rate(amount.copy_abs(), Decimal(1)) == from_micros(abs(micros))


def test_amount_with_seven_decimals_is_refused_and_never_rounded() -> None:
    for _ in range(2):  # the second call after a cached failure
        with pytest.raises(Inexact):
            format_amount(Decimal("0.0000001"))
    for amount in ("0.0000001", "Infinity"):
        with pytest.raises(ValueError, match="at most six decimals"):
            to_micros(Decimal(amount))


@given(st.from_regex(r"\A-?[0-9]{1,11}(\.[0-9]{1,7})?\Z") | st.text(max_size=12))
def test_documented_pattern_matches_the_accepted_texts(text: str) -> None:
    for adapter in (TypeAdapter(Money), TypeAdapter(Rate)):
        pattern = adapter.json_schema(mode="validation")["anyOf"][0]["pattern"]
        try:
            adapter.validate_python(text)
            taken = True
        except ValidationError:
            taken = False
        documented = re.search(pattern.replace("$", r"\Z"), text, re.ASCII) is not None
        assert taken == documented or re.fullmatch(r"-0(\.0+)?", text)
