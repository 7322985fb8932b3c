import base64
import json
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_runtime.errors import InvalidRequest
from aex_runtime.http.pagination import CursorCodec
from tests.fuzz.effort import effort, soon
from tests.fuzz.values import JSON, TEXT

SEAL = CursorCodec(b"k" * 32, "query")
POSITIONS = st.tuples(st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXT, TEXT)
BASE64 = st.text(string.ascii_letters + string.digits + "-_=+/ \n", max_size=80)
FORGED = JSON.map(lambda value: base64.urlsafe_b64encode(b"\0" * 16 + json.dumps(value).encode()).decode().rstrip("="))


@effort()
@given(BASE64 | FORGED | st.text(max_size=60))
def test_random_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidRequest):
        soon(SEAL.decode, cursor)


@effort()
@given(POSITIONS, st.integers(0, 200), st.text(max_size=2), st.integers(0, 2))
def test_altered_cursor_is_equal_or_refused(position: Any, index: int, put: str, length: int) -> None:
    sealed = SEAL.encode(position)
    index %= len(sealed)
    changed = sealed[:index] + put + sealed[index + length :]
    try:
        opened = soon(SEAL.decode, changed)
    except InvalidRequest:
        return
    assert opened == position


@effort()
@given(POSITIONS, TEXT)
def test_cursor_of_another_query_is_refused(position: Any, query: str) -> None:
    other = CursorCodec(SEAL.key, f"other {query}")
    with pytest.raises(InvalidRequest):
        other.decode(SEAL.encode(position))
