import json
import string
from datetime import UTC
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from aex_models.events import TOPICS, UnreadableEvent, parse_event_data
from aex_runtime.bus.port import Message
from aex_runtime.bus.wire import Undecodable, decode_event, encode_event
from tests.fuzz.effort import effort, soon
from tests.fuzz.values import JSON, TEXT

GOOD = {
    "ce-specversion": "1.0",
    "ce-id": "evt_1",
    "ce-type": "work.submitted",
    "ce-source": "work-publisher",
    "ce-subject": "work_1",
    "ce-time": "2026-05-01T12:00:00Z",
    "content-type": "application/json",
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
}
TRACE = {"traceparent", "tracestate"}
"""May be left out on the way, where they say nothing or too much."""
TIMES = st.builds(
    "{}T{}{}".format,
    st.sampled_from(["0001-01-01", "2026-02-30", "2026-12-31", "9999-12-31", "0000-01-01", "20260501"]),
    st.sampled_from(["00:00:00", "23:59:59", "24:00:00", "23:59:60", "12:00", "1200"]),
    st.sampled_from(["Z", "+00:00", "+23:59", "-23:59", "-00:01", "+24:00", ".999999999Z", ""]),
)
ATTRIBUTES = st.dictionaries(
    st.sampled_from(sorted(GOOD)), st.none() | TEXT | TIMES | st.text(max_size=300), max_size=3
)
DATA = st.dictionaries(TEXT, JSON, max_size=4).map(lambda data: json.dumps(data).encode())
BYTES = DATA | st.binary(max_size=60) | st.text(string.punctuation, max_size=30).map(str.encode)


def message(changes: dict[str, str | None], data: bytes) -> Message:
    changed: dict[str, str | None] = {**GOOD, **changes}
    return Message({name: value for name, value in changed.items() if value is not None}, data)


@effort()
@given(ATTRIBUTES, BYTES)
def test_message_is_an_event_or_undecodable(changes: dict[str, str | None], data: bytes) -> None:
    try:
        event = soon(decode_event, message(changes, data))
    except Undecodable as refused:
        assert str(refused)  # noqa: PT017 either of the two may happen
        return
    second = decode_event(encode_event(event))
    assert second.model_dump(exclude=TRACE) == event.model_dump(exclude=TRACE)
    assert event.time.astimezone(UTC) == event.time


@st.composite
def data_of(draw: st.DrawFn, fields: list[str]) -> Any:
    return draw(st.dictionaries(st.sampled_from(fields) | TEXT, JSON, max_size=len(fields)))


@effort()
@given(st.sampled_from(sorted(TOPICS)), st.data())
def test_event_data_are_readable_or_refused(name: str, data: st.DataObject) -> None:
    model = TOPICS[name].data
    found = data.draw(data_of(sorted(model.model_fields)))
    event = decode_event(message({"ce-type": name}, json.dumps(found).encode()))
    try:
        read = soon(parse_event_data, event, model)
    except UnreadableEvent as refused:
        assert name in str(refused)  # noqa: PT017 either of the two may happen
        return
    assert model.model_validate_json(read.model_dump_json()) == read
