"""Request bodies, byte by byte: read as the standard parser reads them, or refused at a place that they have."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from aex_models.canonical import NotCanonical, canonical_bytes
from aex_outcomes.pointer import is_pointer
from aex_runtime.errors import InvalidRequest
from aex_runtime.http.strict_json import parse_strict
from tests.fuzz.effort import effort, soon
from tests.fuzz.values import JSON

_SIGNS = [b"[", b"]", b"{", b"}", b":", b",", b'"', b"\\", b"\\u", b"\\ud83d", b"\\u0000", b"null", b"tru"]
_NUMBERS = [b"-", b"0", b"1e", b".5", b"1e400", b"9007199254740993", b"NaN"]
_TRAPS = [b'"a":1,"a":2', b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\0", b"[" * 70]
PIECES = st.sampled_from([*_SIGNS, *_NUMBERS, *_TRAPS])


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A document with bytes put in, taken out or exchanged."""
    raw = json.dumps(draw(JSON), ensure_ascii=draw(st.booleans())).encode()
    for _ in range(draw(st.integers(1, 3))):
        place, length = draw(st.integers(0, len(raw))), draw(st.integers(0, 3))
        raw = raw[:place] + draw(PIECES | st.binary(max_size=3)) + raw[place + length :]
    return raw


def answered(raw: bytes) -> Any:
    try:
        return soon(parse_strict, raw)
    except InvalidRequest as refused:
        assert refused.errors  # noqa: PT017 either of the two may happen
        for problem in refused.errors:
            assert is_pointer(problem.path)
            json.dumps(problem.model_dump()).encode()
        return refused


@effort()
@given(damaged() | st.lists(PIECES, max_size=12).map(b"".join))
def test_a_damaged_body_is_read_like_any_json_or_refused(raw: bytes) -> None:
    value = answered(raw)
    if not isinstance(value, InvalidRequest):
        assert value == json.loads(raw.decode())


@effort()
@given(damaged())
def test_what_is_read_can_be_stored_and_read_again(raw: bytes) -> None:
    value = answered(raw)
    if isinstance(value, InvalidRequest):
        return
    try:
        written = canonical_bytes(value)
    except NotCanonical as refused:
        raise AssertionError(f"taken from a request and then refused by the store: {refused}") from refused
    again = json.loads(written, parse_int=float)
    assert again == json.loads(raw.decode(), parse_int=float)
