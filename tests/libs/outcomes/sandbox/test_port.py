"""The context of custom code is JSON text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_outcomes.sandbox.port import Context, NotJson

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


def test_what_is_nested_without_end_is_refused() -> None:
    deep: list[Any] = []
    deep.append(deep)
    with pytest.raises(NotJson):
        Context({}, deep, {}).as_json()
