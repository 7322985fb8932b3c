import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_outcomes.sandbox.port import (
    MAX_DEPTH,
    CodeFault,
    Context,
    ContextNotJson,
    FaultKind,
    Limits,
    Returned,
    validate_result,
)

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(values)
def test_json_comes_through_as_it_is(value: Any) -> None:
    assert json.loads(Context({"a": value}, value, {}).as_json()) == [{"a": value}, value, {}]


@given(st.text(st.characters()))
def test_every_text_becomes_one_that_utf_8_holds(text: str) -> None:
    written = Context({}, {"text": text}, {}).as_json()
    written.encode()
    read = json.loads(written)[1]["text"]
    assert read == "".join("\ufffd" if "\ud800" <= each <= "\udfff" else each for each in text)


@pytest.mark.parametrize("output", [object(), float("nan"), {"a": float("inf")}, b"x"])
def test_what_is_no_json_is_refused(output: Any) -> None:
    with pytest.raises(ContextNotJson, match="not JSON"):
        Context({}, output, {}).as_json()


def nested(levels: int) -> Any:
    deep: Any = 1
    for level in range(levels):
        deep = [deep] if level % 2 else {"]}": deep, '\\"[': '"[{'}
    return deep


def test_what_is_nested_more_deeply_than_the_interpreter_reads_is_refused() -> None:
    wide: dict[str, Any] = {"wide": [[]] * 200}
    assert Context(wide, nested(MAX_DEPTH - 1), {}).as_json()
    for candidate in (nested(MAX_DEPTH), [[], nested(MAX_DEPTH - 1), []]):
        with pytest.raises(ContextNotJson, match="nested too deeply: over 127 levels"):
            Context(wide, candidate, {}).as_json()


@given(values, st.integers(0, 3))
def test_brackets_in_texts_are_no_levels(value: Any, levels: int) -> None:
    texts: Any = ["[" * 200, '\\"{' * 50, "]\\"]
    for _ in range(levels):
        texts = [texts]
    assert Context({"a": texts}, value, {"b": texts}).as_json()


def test_what_is_nested_without_end_is_refused() -> None:
    deep: list[Any] = []
    deep.append(deep)
    with pytest.raises(ContextNotJson):
        Context({}, deep, {}).as_json()


numbers = st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
keys = st.from_regex(r"[A-Za-z0-9_.-]{1,128}", fullmatch=True)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner),
)


def refusal(found: Any, **limits: int) -> str:
    with pytest.raises(CodeFault) as caught:
        validate_result(found, Limits(**limits))
    assert caught.value.kind is FaultKind.BAD_RESULT
    return caught.value.message


@given(numbers)
def test_a_number_is_the_value(number: float) -> None:
    assert validate_result(number, Limits()) == Returned(number, {})


@given(st.dictionaries(keys, numbers, max_size=10))
def test_a_dict_of_numbers_is_the_metrics_bare_or_under_metrics(metrics: dict[str, float]) -> None:
    assert validate_result({"metrics": metrics}, Limits()) == Returned(None, metrics)
    if metrics.keys() != {"metrics"}:
        assert validate_result(metrics, Limits()) == Returned(None, metrics)


@given(anything)
def test_whatever_comes_back_is_numbers_or_refused(found: Any) -> None:
    try:
        returned = validate_result(found, Limits())
    except CodeFault:
        assert len(refusal(found)) < 1_000
    else:
        values = [*returned.metrics.values(), *([] if returned.value is None else [returned.value])]
        assert all(type(each) in {bool, int, float} and math.isfinite(each) for each in values)


class Unusual(int):
    """A number that would do something when it is looked at."""

    def __abs__(self) -> int:
        raise AssertionError("not called")


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (None, "NoneType"),
        ("1", "str"),
        ([1], "list"),
        (1j, "complex"),
        (Unusual(1), "Unusual"),
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
        ({f"k{number}": 1 for number in range(65)}, "65 metrics; the limit is 64"),
    ],
)
def test_anything_else_is_refused_and_named(found: Any, why: str) -> None:
    assert why in refusal(found)


def test_limits_may_be_narrower() -> None:
    assert "the limit is 1" in refusal({"a": 1, "b": 2}, max_metrics=1)
    assert "8 bytes; the limit is 7" in refusal({"a": 1}, result_bytes=7)


def test_what_holds_itself_or_one_list_ten_billion_times_is_refused_at_once() -> None:
    itself: dict[str, Any] = {}
    itself["a"] = itself
    shared: list[Any] = [1]
    for _ in range(60):
        shared = [shared, shared]
    assert "dict" in refusal(itself)
    assert "list" in refusal({"a": shared})
