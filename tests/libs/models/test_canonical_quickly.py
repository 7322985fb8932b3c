"""The quick way writes the very bytes of the complete one, or steps aside."""

from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from aex_models.canonical_quickly import quickly
from aex_models.numbers import JsonFloat

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0.1, -0.0, 1e-4, 9.99e-5, 1e15, 1e16, 123456789012345.6, 5e-324, 1.7976931348623157e308, 1e21])
    | st.text()
)
KEYS = st.text(max_size=5) | st.sampled_from(["\ue000", "\U00010000", "é", "a", "A", "\x7f", "\x1f", '"'])
LISTS_OF_TEXTS = st.lists(st.text(max_size=5), max_size=5)
VALUES = st.recursive(
    SCALARS | LISTS_OF_TEXTS, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(KEYS, inner, max_size=5)
)


@settings(max_examples=1_000)
@given(VALUES)
def test_where_it_answers_it_writes_the_same_bytes(value: Any) -> None:
    answer = quickly(value)
    assert answer is None or answer == rfc8785.dumps(value)


@given(st.floats(min_value=1e-4, max_value=1e15, exclude_max=True))
def test_common_floats_are_answered_and_written_alike(value: float) -> None:
    assert quickly([value, -value]) == rfc8785.dumps([value, -value])


@pytest.mark.parametrize("text", ["1.50", "1.0", "0.30000000000000004", "100000.0"])
def test_a_number_that_keeps_its_text_is_written_by_its_value(text: str) -> None:
    assert quickly({"n": JsonFloat(text)}) == rfc8785.dumps({"n": float(text)})


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 2**53, 1e-7, 1e300, {1: 2}, {"é": 1}, "\ud800", {1, 2}, b"x", object()]
)
def test_the_uncommon_is_left_to_the_complete_implementation(value: Any) -> None:
    assert quickly({"v": [value]} if not isinstance(value, dict) else value) is None
