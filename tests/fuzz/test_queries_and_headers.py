import base64
import json
import re
import string
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi import Request
from hypothesis import given
from hypothesis import strategies as st

from aex_runtime.artifacts import _matches_etag
from aex_runtime.errors import InvalidRequest, TooLarge
from aex_runtime.http.pagination import CursorCodec
from aex_runtime.http.upload import check_upload_headers
from aex_runtime.periods import DAY_MICROS, parse_instant, parse_period
from aex_verification.handlers.follow_contract import _parse_event_id
from tests.fuzz.effort import effort, soon
from tests.fuzz.values import JSON, TEXT

DIGITS = st.text("0123456789٣²-", max_size=6)
DAYS = st.none() | st.dates().map(str) | st.from_regex(r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}\n?\Z") | st.text(max_size=12)
INSTANTS = st.one_of(
    st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat),
    st.builds(
        "{}T{}{}".format,
        st.sampled_from(["0001-01-01", "2026-02-29", "2026-12-31", "9999-12-31"]),
        st.sampled_from(["00:00:00", "23:59:59.999999999", "24:00:00", "23:59:60"]),
        st.sampled_from(["Z", "z", "+23:59", "-23:59", "+24:00", "-00:00", ""]),
    ),
    st.from_regex(
        re.compile(r"\A(0001|9999|20[0-9]{2})-[01][0-9]-[0-3][0-9][Tt][0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{1,10})?([Zz]|[+-][0-9]{2}:[0-9]{2})?\n?\Z")
    ),
    st.text(max_size=30),
)  # fmt: skip
HEADER = st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=40)


@effort()
@given(DAYS, DAYS)
def test_period_covers_full_days_or_is_refused_by_name(first: str | None, last: str | None) -> None:
    try:
        period = soon(parse_period, first, last)
    except InvalidRequest as refused:
        assert {each.path for each in refused.errors} <= {"query/from", "query/to"}  # noqa: PT017
        return
    for end in (period.start, period.end):
        assert end is None or end % DAY_MICROS == 0
    if period.start is not None and period.end is not None:
        assert period.start < period.end


@effort()
@given(INSTANTS)
def test_instant_is_exact_or_refused_by_name(text: str) -> None:
    try:
        instant = soon(parse_instant, "as_of", text)
    except InvalidRequest as refused:
        assert [each.path for each in refused.errors] == ["query/as_of"]  # noqa: PT017 either of the two may happen
        return
    assert instant is not None
    assert instant.utcoffset() == timedelta(0)
    assert parse_instant("as_of", instant.isoformat()) == instant


@effort()
@given(st.none() | st.integers(0, 10**12).map(str) | DIGITS | HEADER)
def test_last_event_is_a_number_or_refused_by_name(header: str | None) -> None:
    try:
        assert soon(_parse_event_id, header) >= 0
    except InvalidRequest as refused:
        assert [each.path for each in refused.errors] == ["header/Last-Event-ID"]  # noqa: PT017


def request(**headers: str) -> Request:
    raw = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    scope: dict[str, Any] = {"type": "http", "method": "PUT", "headers": raw}
    return Request(scope)


LENGTHS = DIGITS.filter(lambda text: not re.search("[^\x20-\xff]", text)) | st.integers(1, 9).map(
    lambda n: "9" * n * 1_000
)


ENCODINGS = st.sampled_from(["identity", " Identity", "gzip", ""]) | HEADER


@effort()
@given(
    HEADER | st.sampled_from(["multipart/form-data", 'text/plain; charset="', "a/b;c*0*=d"]),
    ENCODINGS,
    LENGTHS | HEADER,
)
def test_upload_headers_are_accepted_or_refused(kind: str, encoding: str, length: str) -> None:
    try:
        soon(check_upload_headers, request(content_type=kind, content_encoding=encoding, content_length=length), 1_000)
    except (InvalidRequest, TooLarge) as refused:
        assert refused.message  # noqa: PT017 either of the two may happen


@effort()
@given(st.none() | HEADER | st.sampled_from(['W/"abc"', '"abc"', "*", '"x", "abc"', '"abc']))
def test_any_if_none_match_is_compared(header: str | None) -> None:
    named = soon(_matches_etag, header, '"abc"')
    assert named is False or (header is not None and ("*" in header or '"abc"' in header))


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
