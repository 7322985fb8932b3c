from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aex_models.events import Event
from aex_runtime.bus.port import Message
from aex_runtime.bus.wire import Undecodable, decode_event, encode_event

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)
FINITE = JSON.filter(lambda value: "inf" not in repr(value))
EVENTS = st.builds(
    Event,
    **dict.fromkeys(("id", "type", "source", "subject"), TEXT),
    **dict.fromkeys(("traceparent", "tracestate"), st.none() | TEXT),
    time=st.datetimes(timezones=st.just(UTC)),
    data=st.dictionaries(TEXT, FINITE, max_size=5),
)


def event(**changes: Any) -> Event:
    names = {"id": "evt_1", "type": "work.checked", "source": "/aex/verification", "subject": "work_1"}
    plain = Event(time=datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC), data={"work_id": "work_1", "ok": True}, **names)
    return plain.model_copy(update=changes)


def changed(data: bytes | None = None, **attributes: str | None) -> Message:
    plain = encode_event(event())
    merged = plain.attributes | {name.replace("_", "-"): value for name, value in attributes.items()}
    return Message({k: v for k, v in merged.items() if v is not None}, plain.data if data is None else data)


@settings(deadline=None)
@given(EVENTS)
def test_event_is_the_same_after_the_wire(sent: Event) -> None:
    assert decode_event(encode_event(sent)) == sent


def test_envelope_is_cloudevents_in_binary_mode() -> None:
    message = encode_event(
        event(traceparent="00-abc-def-01", time=datetime(2025, 1, 2, tzinfo=timezone(timedelta(hours=1))))
    )
    assert message.attributes == {
        "ce-specversion": "1.0",
        "ce-id": "evt_1",
        "ce-type": "work.checked",
        "ce-source": "/aex/verification",
        "ce-subject": "work_1",
        "ce-time": "2025-01-01T23:00:00Z",
        "content-type": "application/json",
        "traceparent": "00-abc-def-01",
    }
    assert message.data == b'{"work_id":"work_1","ok":true}'


def test_trace_state_too_long_for_an_attribute_is_left_out() -> None:
    assert "tracestate" not in encode_event(event(tracestate="x" * 1_025)).attributes
    assert encode_event(event(tracestate="x" * 1_024)).attributes["tracestate"] == "x" * 1_024


def test_unknown_attributes_are_ignored() -> None:
    message = changed(googclient_schema="x", ce_future="y", content_type="application/json; charset=utf-8")
    assert decode_event(message) == event()


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (changed(ce_id=None, ce_time=None), "attributes are missing: ce-id, ce-time"),
        (changed(ce_specversion="0.3"), "specversion"),
        (changed(ce_id=""), "id: string_too_short"),
        (changed(ce_time="1700000000"), "ce-time"),
        (changed(ce_time="2025-01-01T00:00:00"), "time: timezone"),
        (changed(ce_time="0001-01-01T00:00:00+00:01"), "time: moment_out_of_range"),
        (changed(ce_time="9999-12-31T23:59:59-00:01"), "time: moment_out_of_range"),
        (changed(content_type="text/plain"), "content-type"),
        (changed(content_type=None), "content-type"),
        (changed(b""), "not JSON"),
        (changed(b"\xff{}"), "not JSON in UTF-8"),
        (changed(b'{"a": ' + b"9" * 5_000 + b"}"), "not JSON"),
        (changed(b"[1]"), "not a JSON object"),
        (changed(b'{"a": 1, "a": 2}'), "key twice"),
        (changed(b'{"a": NaN}'), "NaN, infinity"),
        (changed(b'{"a": 1e999}'), "beyond all bounds"),
        (changed(b'{"a":' + b"[" * 100_000), "nested too deeply"),
    ],
)
def test_message_that_is_no_event_is_refused_with_a_reason(message: Message, reason: str) -> None:
    with pytest.raises(Undecodable, match=reason):
        decode_event(message)


def test_reason_names_paths_and_never_values() -> None:
    with pytest.raises(Undecodable) as refused:
        decode_event(changed(ce_type="secret" * 30))
    assert "type: string_too_long" in str(refused.value)
    assert "secret" not in str(refused.value)
