"""The context of custom code is JSON text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_outcomes.sandbox.port import MAX_DEPTH, Context, NotJson

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
    with pytest.raises(NotJson, match="not JSON"):
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
        with pytest.raises(NotJson, match="nested too deeply: over 127 levels"):
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
    with pytest.raises(NotJson):
        Context({}, deep, {}).as_json()
