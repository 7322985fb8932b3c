"""Comparators of fields: the values that agree, and the budget of their time."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz

from aex_models.grader_data import ExpectedRecords
from aex_models.numbers import JsonFloat
from aex_outcomes.kernels.comparators import FieldComparator, build_comparator
from aex_outcomes.kernels.forms import Incomparable, TimeBudget, TooMuchToCompare


def comparator(specification: Any, seconds: float = 10) -> FieldComparator:
    fields = ExpectedRecords.model_validate({"items": [{}], "fields": {"/a": specification}}).fields
    return build_comparator(fields["/a"], TimeBudget(seconds * 1e9))


def agree(specification: Any, expected: Any, delivered: Any) -> bool:
    """Compare directly and by the index, which must say the same."""
    found = comparator(specification)
    one, other = found.to_form(expected), found.to_form(delivered)
    is_equal = found.agree(one, other)
    assert list(found.index({other: 1})(one)) == [other] * is_equal
    return is_equal


NUMBER, DATE = {"number": {"abs": 0.1, "rel": 0.01}}, {"date": ["%d.%m.%Y"]}


@pytest.mark.parametrize(
    ("specification", "expected", "delivered"),
    [
        ("exact", 1, 1.0),
        ("exact", 0, -0.0),
        ("exact", JsonFloat("1.50"), 1.5),
        ("exact", {"a": [1, {"b": None}]}, {"a": [1.0, {"b": None}]}),
        ("casefold", "Straße ﬁx", "STRASSE FIX"),
        ("casefold", "ACME", "acme"),
        ("casefold", 1, 1.0),
        ("set", ["a", "b", "a"], ["b", "a"]),
        ("set", [1, [2]], [[2.0], 1.0]),
        ("set", [], []),
        ({"number": {}}, 5, 5.0),
        (NUMBER, 1.0, 1.1),
        (NUMBER, 100, 101),
        (NUMBER, -100, -99),
        ({"number": {"rel": 0.1}}, 1e308, 1.1e308),
        (DATE, "2024-01-31", "31.01.2024"),
        ({"fuzzy": 0.75}, "abcd", "abcx"),
        ({"fuzzy": 0.55}, "a" * 20, "a" * 11 + "b" * 9),
        ({"fuzzy": 0}, "abc", ""),
        ({"fuzzy": 1}, "", ""),
    ],
)
def test_values_agree(specification: Any, expected: Any, delivered: Any) -> None:
    assert agree(specification, expected, delivered)


@pytest.mark.parametrize(
    ("specification", "expected", "delivered"),
    [
        ("exact", 1, True),
        ("exact", 0, False),
        ("exact", 1, "1"),
        ("exact", "true", True),
        ("exact", [1, 2], [2, 1]),
        ("exact", [1], [True]),
        ("exact", [], {}),
        ("exact", "a", "a "),
        ("exact", float("nan"), float("nan")),
        ("casefold", "1", 1),
        ("set", ["a"], "a"),
        ("set", [1], [True]),
        ("set", "ab", "ab"),
        (NUMBER, 1, True),
        (NUMBER, 1, "1"),
        (NUMBER, "1", "1"),
        (NUMBER, 100, 101.001),
        (NUMBER, 1, float("inf")),
        (DATE, "2024-01-31", "1.2.2024"),
        (DATE, "2024-01-31", 20240131),
        (DATE, "soon", "soon"),
        ({"fuzzy": 0.76}, "abcd", "abcx"),
        ({"fuzzy": 0.5}, "abcd", 5),
        ({"fuzzy": 0.5}, 5, 5),
        ({"fuzzy": 0.5}, "a", "a" * 4),
    ],
)
def test_values_do_not_agree(specification: Any, expected: Any, delivered: Any) -> None:
    assert not agree(specification, expected, delivered)


@given(st.text("ab", max_size=12), st.lists(st.text("abc", max_size=12)), st.integers(0, 20))
def test_texts_agree_from_the_ratio_of_rapidfuzz_on(text: str, others: list[str], twentieths: int) -> None:
    threshold = twentieths / 20
    found = comparator({"fuzzy": threshold})
    similar = {each for each in others if fuzz.ratio(text, each) >= 100 * threshold - 1e-9}
    assert {*found.index(dict.fromkeys(others))(text)} == similar
    assert {each for each in others if found.agree(text, each)} == similar


@given(st.integers(-50, 50), st.lists(st.integers(-500, 500)), st.integers(0, 9), st.integers(0, 9))
def test_numbers_agree_within_the_larger_tolerance(value: int, others: list[int], tenths: int, percents: int) -> None:
    found = comparator({"number": {"abs": tenths / 10, "rel": percents / 100}})
    near = {each for each in others if abs(100 * value - 10 * each) <= max(10 * tenths, percents * abs(value))}
    forms = {found.to_form(each / 10): each for each in others}
    assert {forms[each] for each in found.index(forms)(found.to_form(value))} == near


@pytest.mark.parametrize(
    ("specification", "value"),
    [
        ("exact", [0] * 1_000_000),
        ("casefold", "\ufdfa" * 500_000),
        ("set", [0] * 1_000_000),
        ({"date": ["%d.%m.%Y"] * 20}, None),
        ({"fuzzy": 0.5}, "é" * 100_000),
    ],
)
def test_what_would_take_long_is_refused(specification: Any, value: Any) -> None:
    found = comparator(specification, seconds=0.2)

    def compare_all() -> None:
        for number in range(5_000):
            found.agree(found.to_form(value or f"{number}"), found.to_form(f"{value}!"))

    with pytest.raises(TooMuchToCompare):
        compare_all()


def test_a_nested_value_beyond_json_is_incomparable() -> None:
    nested: Any = []
    for _ in range(5_000):
        nested = [nested]
    assert isinstance(comparator("exact").to_form(nested), Incomparable)
