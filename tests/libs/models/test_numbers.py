"""Numbers as other JSON readers take them."""

import json
import math
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from aex_models.governance import Extracted
from aex_models.numbers import (
    MAX_SAFE_INTEGER,
    JsonFloat,
    convert_large_integers_to_doubles,
    format_as_written,
    is_exact_as_double,
    is_finite_number,
    is_integral_number,
)


@given(st.floats(2**53, 1e21, exclude_max=True), st.sampled_from([1, -1]))
def test_large_integer_is_sent_as_its_double(number: float, sign: int) -> None:
    sent = convert_large_integers_to_doubles({"deep": [sign * int(number), (True, "1", None, 5)]})
    assert sent == {"deep": [sign * number, [True, "1", None, 5]]}
    assert [type(each) for each in (sent["deep"][0], *sent["deep"][1])] == [float, bool, str, type(None), int]
    assert json.loads(json.dumps(sent)) == sent


@pytest.mark.parametrize("number", [MAX_SAFE_INTEGER, -MAX_SAFE_INTEGER, 0])
def test_safe_integer_is_sent_unchanged(number: int) -> None:
    assert type(convert_large_integers_to_doubles(number)) is int


@given(st.floats(2**53, 1e21, exclude_max=True).map(int) | st.integers(2**53, 10**25))
def test_large_integer_is_exact_if_rfc_8785_writes_it(number: int) -> None:
    written = rfc8785.dumps(float(number))
    assert is_exact_as_double(number) is is_exact_as_double(-number) is (written == str(number).encode())


@pytest.mark.parametrize("value", [True, False, None, "1", math.nan, math.inf, 10**400, 2**53 + 1, [1]])
def test_value_without_a_number_is_no_integer(value: Any) -> None:
    assert not is_finite_number(value)
    assert not is_integral_number(value)


def test_number_has_its_own_text_or_the_shortest() -> None:
    assert [format_as_written(each) for each in (JsonFloat("0.10"), 0.1, 5)] == ["0.10", "0.1", "5"]


EXTRACTED: TypeAdapter[Any] = TypeAdapter(Extracted)


def test_extracted_value_is_a_number_or_a_boolean_or_none() -> None:
    for unknown in ("NaN", "nan", "Infinity", "-inf", "+INF", float("nan"), float("-inf"), None):
        assert EXTRACTED.validate_python(unknown) is None
    for value in (0, 0.5, -3, True, False):
        kept = EXTRACTED.validate_python(value)
        assert (kept, type(kept)) == (value, type(value))
    malformed: tuple[Any, ...] = ("0.5", "infinite", "", [1.0], {})
    for text in malformed:
        with pytest.raises(ValidationError):
            EXTRACTED.validate_python(text)
