import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.canonical import canonical_bytes
from aex_runtime.http.long_values import LONG_BYTES, find_long_values, find_value_end

_TEXT = st.text(st.sampled_from('a"\\\n[]{}:, é漢'), max_size=8)
_SCALARS = st.integers(-9, 9) | st.booleans() | st.none() | _TEXT
_JSON = st.recursive(_SCALARS, lambda inner: st.lists(inner) | st.dictionaries(_TEXT, inner), max_leaves=40)
_VALUES = st.lists(_JSON) | st.dictionaries(_TEXT, _JSON)
_SIZES = st.sampled_from([0, 50_000]) | st.integers(LONG_BYTES - 40, LONG_BYTES)


@given(_VALUES, _VALUES, _SIZES, st.sampled_from(['"', "\\", "x", "[]"]))
def test_value_ends_where_its_parsing_does(before: Any, after: Any, size: int, character: str) -> None:
    value = [before, character * size, [1] * 9_000, after]
    text = canonical_bytes({"a": value, "b": [after]})
    end = find_value_end(text, 5)
    assert json.loads(text[5:end]) == value


@pytest.mark.parametrize("text", [b"[", b'["a', b'[{"a":[]}', b'["' + b"x" * LONG_BYTES, b"[" * 100_000])
def test_value_without_an_end_ends_with_the_text(text: bytes) -> None:
    assert find_value_end(text, 0) == len(text)


@given(_VALUES, _VALUES)
def test_long_value_of_an_opaque_field_is_found_at_any_depth(value: Any, other: Any) -> None:
    long = [1] * LONG_BYTES
    text = canonical_bytes({"a": [{"open": [long, value], "free": other}], "b": {"c": {"free": [long, value]}}})
    found = [text[start:end] for start, end, _ in find_long_values(text, {"free"})]
    assert found == [canonical_bytes([long, value])[1:-1]]


def test_object_is_distinguished_from_an_array() -> None:
    rows = [{"number": number} for number in range(2_000)]
    text = canonical_bytes({"array": rows, "object": {"rows": rows}, "other": rows})
    found = [(text[start:end], is_object) for start, end, is_object in find_long_values(text, {"array", "object"})]
    assert found == [(canonical_bytes(rows)[1:-1], False), (canonical_bytes({"rows": rows})[1:-1], True)]
