import hashlib
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.canonical import NotCanonical, canonical_bytes, digest, escape_pointer, json_problem, sha256_hex
from aex_models.frozen import Frozen
from aex_models.numbers import MAX_SAFE_INTEGER, JsonFloat

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


def test_an_integer_of_thousands_of_digits_is_refused_with_its_path() -> None:
    with pytest.raises(NotCanonical) as refused:
        canonical_bytes({"deep": [10**5000]})
    assert refused.value.path == "/deep/0"


def test_the_example_of_rfc_8785_comes_out_byte_for_byte() -> None:
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
def test_canonical_json_read_back_has_the_same_canonical_form(value: Any) -> None:
    written = canonical_bytes(value)
    assert canonical_bytes(json.loads(written)) == written


@given(JSON)
def test_canonical_json_loses_nothing(value: Any) -> None:
    assert json.loads(canonical_bytes(value), parse_int=float) == value


@given(st.floats(2**53, 1e21, exclude_max=True))
def test_large_doubles_are_written_as_integers_that_are_taken_again(number: float) -> None:
    written = canonical_bytes(number)
    assert written.isdigit()
    assert canonical_bytes(int(written)) == written


@given(JSON)
def test_the_order_of_keys_does_not_change_the_digest(value: Any) -> None:
    assert digest(shuffled(value)) == digest(value)


def test_the_digest_is_sha_256_over_the_canonical_form() -> None:
    assert digest({"b": 1, "a": 2.0}) == hashlib.sha256(b'{"a":2,"b":1}').hexdigest()
    assert sha256_hex(b"") == hashlib.sha256(b"").hexdigest()


def test_minus_zero_and_zero_are_one_value() -> None:
    assert canonical_bytes([-0.0]) == b"[0]"


def test_a_number_that_keeps_its_text_is_written_like_any_other() -> None:
    assert canonical_bytes([JsonFloat("1.50")]) == b"[1.5]"


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": [1, {"b/c": math.nan}]}, "/a/1/b~1c"),
        ({"a": math.inf}, "/a"),
        ([2**53 + 1], "/0"),
        ([-(2**53) - 1], "/0"),
        ([2**60], "/0"),
        ([10**21], "/0"),
        ({"~": "\ud800"}, "/~0"),
        ({"a": {"\ud800": 1}}, "/a"),
        ({"a": {1: 1}}, "/a"),
        ([b"bytes"], "/0"),
        ({1, 2}, ""),
    ],
)
def test_what_i_json_cannot_hold_is_refused_with_its_path(value: Any, path: str) -> None:
    with pytest.raises(NotCanonical) as refused:
        canonical_bytes(value)
    assert refused.value.path == path
    assert json_problem(value) == (path, refused.value.problem)


def test_the_largest_safe_integers_are_taken() -> None:
    assert canonical_bytes([MAX_SAFE_INTEGER, -MAX_SAFE_INTEGER]) == b"[9007199254740991,-9007199254740991]"


def test_bottomless_nesting_is_refused_and_does_not_crash() -> None:
    with pytest.raises(NotCanonical, match="nested too deeply"):
        canonical_bytes(nested(100_000))
    assert json_problem(nested(100_000)) == ("", "nested too deeply")


@pytest.mark.parametrize("body", [nested(100_000), b"\xff", object()])
def test_what_a_model_holds_and_json_cannot_is_refused_as_not_canonical(body: Any) -> None:
    with pytest.raises(NotCanonical):
        canonical_bytes(Note(text="a", body=body))


def test_a_refusal_quotes_nothing_of_the_value() -> None:
    with pytest.raises(NotCanonical) as refused:
        canonical_bytes({"reference": "the secret \ud800 answer"})
    assert "secret" not in str(refused.value)


def test_a_model_is_hashed_as_its_json_form() -> None:
    assert canonical_bytes(Note(text="a", body={"x": 1.0})) == b'{"body":{"x":1},"text":"a"}'


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_nan_inside_a_model_is_refused_and_not_turned_into_null(number: float) -> None:
    with pytest.raises(NotCanonical, match="/body/x"):
        canonical_bytes(Note(text="a", body={"x": number}))


def test_pointers_escape_tilde_and_slash() -> None:
    assert escape_pointer("a/b~c") == "a~1b~0c"
