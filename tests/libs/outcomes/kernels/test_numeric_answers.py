"""Numbers in texts, their units, and exact comparisons."""

import time
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_outcomes.kernels.numeric_answers import (
    find_last_number,
    has_unit_or_nothing_behind,
    is_within_tolerance,
    to_decimal,
)


def last(text: str, *, may_have_unit: bool = False) -> str | None:
    found = find_last_number(text, may_have_unit=may_have_unit)
    return None if found is None else str(found.value.normalize())


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("42", "42"),
        ("It weighs 1,234 kg.", "1234"),
        ("first 3, then 4.", "4"),
        ("-5", "-5"),
        ("−5.50", "-5.5"),
        ("+7", "7"),
        (".5", "0.5"),
        ("5.", "5"),
        ("007", "7"),
        ("1,234,567.89", "1234567.89"),
        ("6.02E+23", "6.02E+23"),
        ("1e−3", "0.001"),
        ("**42**", "42"),
        ('`42`, "7"', "7"),
        ("about $1,234.50!", "1234.5"),
        ("-€5", "-5"),
        (r"so \boxed{42}.", "42"),
        ("x =\u00a05", "5"),
        ("42 [1]", "42"),
        ("10-20", "10"),
    ],
)
def test_the_last_number_of_a_text_is_read(text: str, number: str) -> None:
    assert last(text) == str(Decimal(number).normalize())


@pytest.mark.parametrize(
    "text",
    [
        "", "none", "five", "5kg", "x5 v2", "50%", "5‰", "1.2.3", "1,23", "1,2345", "0,123", "12,34,567", "GPT-4",
        "1e5.5", "x5", "#5", "5²", "5_000", "5é", "--5", "+-5", "$", "e5", "٣", "½", "(5)", "=5",
    ],
)  # fmt: skip
def test_what_touches_letters_or_is_malformed_is_no_number(text: str) -> None:
    assert last(text) is None


def test_a_number_that_does_not_count_leaves_the_one_before_it() -> None:
    assert last("3 of them, 50% of v2, 1.2.3") == "3"
    assert last("3 of them, 5kg", may_have_unit=True) == "5"


@pytest.mark.parametrize(
    ("text", "units", "accepted"),
    [
        ("5 kg", ["kg"], True),
        ("5kg.", ["kg"], True),
        ("5 lb", ["kg"], False),
        ("5 Kg", ["kg"], False),
        ("5 kg", ["g", "kg"], True),
        ("5", ["kg"], True),
        ("5. That is all", ["kg"], True),
        ("5, which", ["kg"], True),
        ("5\nlb", ["kg"], True),
        ("5 because", ["kg"], False),
        ("**5** kg", ["kg"], True),
        ("5 km/h", ["km"], False),
        ("5 km/h", ["km/h"], True),
        ("5 m²", ["m"], False),
        ("5 m²", ["m2"], True),
        ("5 µm", ["μm"], True),
        ("5%", ["%"], True),
        ("5 %", ["kg"], False),
        ("5 °C", ["°C"], True),
        ("5 $", ["kg"], False),
        ("5 €", ["€"], True),
        ("5 square  meters", ["square meters"], True),
        ("5 kg-m", ["kg"], False),
        ("5 kg)", ["kg"], True),
        ("5 kg—so", ["kg"], True),
    ],
)
def test_one_of_the_units_or_no_word_stands_behind(text: str, units: list[str], accepted: bool) -> None:
    found = find_last_number(text, may_have_unit=True)
    assert found is not None
    assert has_unit_or_nothing_behind(text, found.end, units) is accepted


@pytest.mark.parametrize(
    ("value", "expected", "absolute", "relative", "within"),
    [
        ("0.2", 0.3, 0.1, 0, True),
        ("0.4", 0.3, 0.1, 0, True),
        ("0.40000000000000001", 0.3, 0.1, 0, False),
        ("110", 100, 0, 0.1, True),
        ("-110", -100, 0, 0.1, True),
        ("111", 100, 11, 0.1, True),
        ("1e999999999", 1e308, 1e308, 1e308, False),
        ("1e616", 1e308, 0, 1e308, True),
        ("-1e-999999999", 0.5, 0.5, 0, False),
        ("1e-999999999", 0.5, 0.5, 0, True),
        ("5e-324", 5e-324, 0, 0, True),
        ("-0", 0, 0, 0, True),
    ],
)
def test_the_larger_tolerance_applies_exactly(
    value: str, expected: float, absolute: float, relative: float, within: bool
) -> None:
    assert is_within_tolerance(Decimal(value), expected, absolute, relative) is within


FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(FLOATS, FLOATS, st.floats(0, 1e300), st.floats(0, 1e300))
def test_comparisons_equal_those_of_exact_fractions(
    value: float, expected: float, absolute: float, relative: float
) -> None:
    center, left, right = (Fraction(repr(each)) for each in (expected, absolute, relative))
    within = abs(Fraction(repr(value)) - center) <= max(left, right * abs(center))
    assert is_within_tolerance(to_decimal(value), expected, absolute, relative) is within


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**12), max_value=10**12))
def test_written_numbers_are_read_back(number: Decimal) -> None:
    for text in (f"{number}", f"{number:,}", f"{number:e}", f"it is {number:,}.", f"**{number}**"):
        found = find_last_number(text, may_have_unit=False)
        assert found is not None
        assert found.value == number


@pytest.mark.parametrize(
    "text",
    [
        "9" * 1_000_000, "1" + ",111" * 250_000, "1" + ",111" * 250_000 + "1", "1." * 500_000, "*" * 1_000_000,
        "1 " * 500_000, "1e" * 500_000, "1e" + "9" * 1_000_000, "5" + " " * 1_000_000 + "kg", r"\boxed{" * 140_000,
        "0." + "0" * 1_000_000 + "1", "1e999999 " * 100_000, "{" * 1_000_000, "-" * 1_000_000, " " * 1_000_000,
    ],
)  # fmt: skip
def test_a_million_hostile_characters_take_linear_time(text: str) -> None:
    started = time.process_time()
    for may_have_unit in (False, True):
        found = find_last_number(text, may_have_unit=may_have_unit)
        if found is not None:
            is_within_tolerance(found.value, 1e308, 1e308, 1e308)
            has_unit_or_nothing_behind(text, found.end, ["kg"])
    assert time.process_time() - started < 3
