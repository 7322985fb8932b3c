import hashlib
import json
import math
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from aex_models.canonical import (
    NotCanonical,
    canonical_bytes,
    canonical_digest,
    canonical_fast,
    find_json_problem,
    is_json_pointer,
    sha256_hex,
)
from aex_models.frozen import Frozen
from aex_models.numbers import MAX_SAFE_INTEGER, JsonFloat
from tests.examples import examples

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=20)


class Note(Frozen):
    text: str
    body: Any = None


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def shuffled(value: Any) -> Any:
    """The same JSON value with the keys of each object in the opposite order."""
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(value)}
    return [shuffled(item) for item in value] if isinstance(value, list) else value


def test_canonical_form_equals_the_example_of_rfc_8785() -> None:
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": '€$\u000f\nA\'B"\\\\"/',
        "literals": [None, True, False],
    }
    expected = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert canonical_bytes(value) == expected.encode()


def test_keys_are_ordered_by_utf_16_code_units() -> None:
    ordered = ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]  # RFC 8785, section 3.2.3
    assert list(json.loads(canonical_bytes(dict.fromkeys(reversed(ordered), 0)))) == ordered


@given(JSON)
def test_canonical_json_is_stable_and_loses_nothing(value: Any) -> None:
    written = canonical_bytes(value)
    assert canonical_bytes(json.loads(written)) == written == canonical_bytes(shuffled(value))
    assert json.loads(written, parse_int=float) == value


@given(st.floats(2**53, 1e21, exclude_max=True))
def test_large_doubles_are_stable_as_integers(number: float) -> None:
    written = canonical_bytes(number)
    assert written.isdigit()
    assert canonical_bytes(int(written)) == written


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": [1, {"b/c": math.nan}]}, "/a/1/b~1c"),
        ({"a": math.inf}, "/a"),
        ([2**53 + 1], "/0"),
        ([-(2**53) - 1], "/0"),
        ([2**60], "/0"),
        ([10**21], "/0"),
        ({"deep": [10**5000]}, "/deep/0"),
        ({"~": "the secret \ud800 answer"}, "/~0"),
        ({"a": {"\ud800": 1}}, "/a"),
        ({"a": {1: 1}}, "/a"),
        ([b"bytes"], "/0"),
        ({1, 2}, ""),
    ],
)
def test_value_outside_i_json_is_refused_with_its_path(value: Any, path: str) -> None:
    with pytest.raises(NotCanonical) as refused:
        canonical_bytes(value)
    assert refused.value.path == path
    assert find_json_problem(value) == (path, refused.value.problem)
    assert "secret" not in str(refused.value)


@given(st.text(st.characters(max_codepoint=0xFFFF) | st.sampled_from("\ud800\udfff")))
def test_text_with_a_surrogate_is_refused_and_any_other_is_not(text: str) -> None:
    has_surrogate = any("\ud800" <= character <= "\udfff" for character in text)
    assert (find_json_problem(text) is not None) == has_surrogate


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(NotCanonical, match="nested too deeply"):
        canonical_bytes(nested(20_000))
    assert find_json_problem(nested(20_000)) == ("", "nested too deeply")


@pytest.mark.parametrize("body", [nested(20_000), b"\xff", object()])
def test_model_with_values_outside_json_is_refused(body: Any) -> None:
    with pytest.raises(NotCanonical):
        canonical_bytes(Note(text="a", body=body))
    with pytest.raises(NotCanonical, match="/body/x"):
        canonical_bytes(Note(text="a", body={"x": math.nan}))


def test_equal_values_have_one_canonical_form() -> None:
    assert canonical_bytes([-0.0, JsonFloat("1.50")]) == b"[0,1.5]"
    assert canonical_bytes([MAX_SAFE_INTEGER, -MAX_SAFE_INTEGER]) == b"[9007199254740991,-9007199254740991]"
    assert canonical_bytes(Note(text="a", body={"x": 1.0})) == b'{"body":{"x":1},"text":"a"}'
    assert canonical_digest({"b": 1, "a": 2.0}) == hashlib.sha256(b'{"a":2,"b":1}').hexdigest()
    assert sha256_hex(b"") == hashlib.sha256(b"").hexdigest()


FAST_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0.1, -0.0, 1e-4, 9.99e-5, 1e15, 1e16, 123456789012345.6, 5e-324, 1.7976931348623157e308, 1e21])
    | st.text()
)
KEYS = st.text(max_size=5) | st.sampled_from(["\ue000", "\U00010000", "é", "a", "A", "\x7f", "\x1f", '"'])
LISTS_OF_TEXTS = st.lists(st.text(max_size=5), max_size=5)
FAST_VALUES = st.recursive(
    FAST_SCALARS | LISTS_OF_TEXTS, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(KEYS, inner, max_size=5)
)


@settings(max_examples=examples(1_000))
@given(FAST_VALUES)
def test_fast_form_has_the_bytes_of_the_complete_one(value: Any) -> None:
    answer = canonical_fast(value)
    assert answer is None or answer == rfc8785.dumps(value)


@given(st.floats(min_value=1e-4, max_value=1e15, exclude_max=True))
def test_common_floats_have_a_fast_form(value: float) -> None:
    assert canonical_fast([value, -value]) == rfc8785.dumps([value, -value])


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 2**53, 1e-7, 1e300, {1: 2}, {"é": 1}, "\ud800", {1, 2}, b"x", object()]
)
def test_uncommon_values_have_no_fast_form(value: Any) -> None:
    assert canonical_fast({"v": [value]} if not isinstance(value, dict) else value) is None


@pytest.mark.parametrize(("text", "valid"), [("", True), ("/", True), ("/a~0~1", True), ("a", False), ("/a~2", False)])
def test_a_pointer_is_empty_or_begins_with_a_slash_and_has_no_other_escapes(text: str, valid: bool) -> None:
    assert is_json_pointer(text) is valid
