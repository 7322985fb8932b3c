import json

from hypothesis import given
from hypothesis import strategies as st

from aex_models.canonical import canonical_bytes, is_json_pointer
from aex_runtime.errors import InvalidRequest
from aex_runtime.http.strict_json import parse_strict_json
from tests.fuzz.effort import effort, soon
from tests.fuzz.values import JSON

_SIGNS = [b"[", b"]", b"{", b"}", b":", b",", b'"', b"\\", b"\\u", b"\\ud83d", b"\\u0000", b"null", b"tru"]
_NUMBERS = [b"-", b"0", b"1e", b".5", b"1e400", b"9007199254740993", b"NaN"]
_TRAPS = [b'"a":1,"a":2', b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\0", b"[" * 70]
PIECES = st.sampled_from([*_SIGNS, *_NUMBERS, *_TRAPS])


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    raw = json.dumps(draw(JSON), ensure_ascii=draw(st.booleans())).encode()
    for _ in range(draw(st.integers(1, 3))):
        pointer, length = draw(st.integers(0, len(raw))), draw(st.integers(0, 3))
        raw = raw[:pointer] + draw(PIECES | st.binary(max_size=3)) + raw[pointer + length :]
    return raw


@effort()
@given(damaged() | st.lists(PIECES, max_size=12).map(b"".join))
def test_damaged_body_is_refused_or_read_as_json_that_can_be_stored(raw: bytes) -> None:
    try:
        value = soon(parse_strict_json, raw)
    except InvalidRequest as refused:
        assert refused.errors  # noqa: PT017 either of the two may happen
        for problem in refused.errors:
            assert is_json_pointer(problem.path)
            json.dumps(problem.model_dump()).encode()
        return
    assert value == json.loads(raw.decode())
    assert json.loads(canonical_bytes(value), parse_int=float) == json.loads(raw.decode(), parse_int=float)
