"""Cursors that nobody gave out open nothing, whatever they are made of."""

import base64
import json
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_runtime.errors import InvalidRequest
from aex_runtime.http.pagination import CursorSeal
from tests.fuzz.effort import effort, soon
from tests.fuzz.values import JSON, TEXT

SEAL = CursorSeal(b"k" * 32, "query")
POSITIONS = st.tuples(st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXT, TEXT)
BASE64 = st.text(string.ascii_letters + string.digits + "-_=+/ \n", max_size=80)
FORGED = JSON.map(lambda value: base64.urlsafe_b64encode(b"\0" * 16 + json.dumps(value).encode()).decode().rstrip("="))


@effort()
@given(BASE64 | FORGED | st.text(max_size=60))
def test_a_made_up_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidRequest):
        soon(SEAL.open, cursor)


@effort()
@given(POSITIONS, st.integers(0, 200), st.text(max_size=2), st.integers(0, 2))
def test_a_cursor_changed_in_its_text_opens_where_it_did_or_not_at_all(
    position: Any, place: int, put: str, length: int
) -> None:
    sealed = SEAL.seal(position)
    place %= len(sealed)
    changed = sealed[:place] + put + sealed[place + length :]
    try:
        opened = soon(SEAL.open, changed)
    except InvalidRequest:
        return
    assert opened == position


@effort()
@given(POSITIONS, TEXT)
def test_a_cursor_serves_its_own_query_alone(position: Any, query: str) -> None:
    other = CursorSeal(SEAL.key, f"other {query}")
    with pytest.raises(InvalidRequest):
        other.open(SEAL.seal(position))
