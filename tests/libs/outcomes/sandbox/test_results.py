"""What code returns is a number or a flat dict of numbers, or a fault."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_outcomes.sandbox.port import CodeFault, FaultKind, Limits, Returned
from aex_outcomes.sandbox.results import read_result

numbers = st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
keys = st.from_regex(r"[A-Za-z0-9_.-]{1,128}", fullmatch=True)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner),
)


def refusal(found: Any, **limits: int) -> str:
    with pytest.raises(CodeFault) as caught:
        read_result(found, Limits(**limits))
    assert caught.value.kind is FaultKind.BAD_RESULT
    return caught.value.message


@given(numbers)
def test_a_number_is_the_value(number: float) -> None:
    assert read_result(number, Limits()) == Returned(number, {})


@given(st.dictionaries(keys, numbers, max_size=10))
def test_a_dict_of_numbers_is_the_metrics_bare_or_under_metrics(metrics: dict[str, float]) -> None:
    assert read_result({"metrics": metrics}, Limits()) == Returned(None, metrics)
    if metrics.keys() != {"metrics"}:
        assert read_result(metrics, Limits()) == Returned(None, metrics)


@given(anything)
def test_whatever_comes_back_is_numbers_or_refused(found: Any) -> None:
    try:
        returned = read_result(found, Limits())
    except CodeFault:
        assert len(refusal(found)) < 1_000
    else:
        values = [*returned.metrics.values(), *([] if returned.value is None else [returned.value])]
        assert all(type(each) in {bool, int, float} and math.isfinite(each) for each in values)


class Odd(int):
    """A number that would do something when it is looked at."""

    def __abs__(self) -> int:
        raise AssertionError("nobody asks it")


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (None, "NoneType"),
        ("1", "str"),
        ([1], "list"),
        (1j, "complex"),
        (Odd(1), "Odd"),
        (math.nan, "not finite"),
        (-math.inf, "not finite"),
        (2**53, "beyond"),
        (-(10**400), "beyond"),
        ({"a": None}, "the entry a is of the type NoneType"),
        ({"a": {"b": 1}}, "the entry a is of the type dict"),
        ({"metrics": {"a": 1}, "b": 1}, "the entry metrics is of the type dict"),
        ({"metrics": [1]}, "the entry metrics is of the type list"),
        ({"": 1}, "the key ''"),
        ({"a b": 1}, "the key 'a b'"),
        ({"a\n": 1}, "the key"),
        ({"é": 1}, "the key"),
        ({"k" * 129: 1}, "the key"),
        ({1: 1}, "of the type int"),
        ({True: 1}, "of the type bool"),
        ({f"k{number}": 1 for number in range(65)}, "65 metrics; at most 64"),
    ],
)
def test_anything_else_is_refused_and_named(found: Any, why: str) -> None:
    assert why in refusal(found)


def test_limits_may_be_narrower() -> None:
    assert "at most 1 are taken" in refusal({"a": 1, "b": 2}, max_metrics=1)
    assert "8 bytes; at most 7" in refusal({"a": 1}, result_bytes=7)


def test_what_holds_itself_or_one_list_ten_billion_times_is_refused_at_once() -> None:
    itself: dict[str, Any] = {}
    itself["a"] = itself
    shared: list[Any] = [1]
    for _ in range(60):
        shared = [shared, shared]
    assert "dict" in refusal(itself)
    assert "list" in refusal({"a": shared})
