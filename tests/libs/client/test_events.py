import pytest
from structlog.testing import capture_logs

from aex_client import (
    NO_RETRIES,
    AnswerNotUnderstood,
    ConnectionFailed,
    Endpoints,
    NotFound,
    Unauthenticated,
    Unavailable,
)
from aex_models.contract_events import ContractEvent
from tests.libs.client.platform import Both, served
from tests.libs.client.streams import BEAT, BEGIN, Connection, Script, event

END = event(3, "verification_exhausted")


async def receive(both: Both, streams: Script, after: int | None = None, most: int = 99) -> list[ContractEvent]:
    """The first events, at most `most`."""
    with served(streams) as url:
        events: list[ContractEvent] = await both.call(Endpoints(*[url] * 4), "events", "ctr_1", after, most=most)
        return events


def seqs(events: list[ContractEvent]) -> list[int]:
    return [each.seq for each in events]


async def test_events_are_models_up_to_the_final_one(both: Both) -> None:
    printed = event(1, code="too_long", message="Too long.", attempt_id="att_1", attempt_counted=True)
    streams = Script([Connection((BEGIN, printed, BEAT, event(2, "held"), END, event(4)))])
    both.token = iter(["token-0"]).__next__
    first, held, end = await receive(both, streams)
    assert isinstance(first, ContractEvent)
    assert (first.seq, first.code, first.message, first.attempt_counted) == (1, "too_long", "Too long.", True)
    assert (held.type, end.type) == ("held", "verification_exhausted")
    [requested] = streams.requested
    assert (requested["authorization"], requested["accept"]) == ("Bearer token-0", "text/event-stream")
    assert "last-event-id" not in requested


async def test_ended_stream_is_resumed_after_the_last_event_with_a_new_token(both: Both) -> None:
    both.token = iter([f"token-{number}" for number in range(3)]).__next__
    streams = Script([Connection((BEGIN, event(1))), Connection((BEGIN, BEAT)), Connection((BEGIN, event(2), END))])
    assert seqs(await receive(both, streams)) == [1, 2, 3]
    assert streams.last_ids == [None, "1", "1"]
    assert [each["authorization"] for each in streams.requested] == [f"Bearer token-{number}" for number in range(3)]
    assert both.pauses[:2] == pytest.approx([0.3, 0.3])  # the service asks for 0.4 s, jittered


async def test_aborted_stream_is_resumed_and_each_event_returned_once(both: Both) -> None:
    half = event(2).rstrip("\n")
    broken = Connection((BEGIN, event(1), half), broken=True)
    streams = Script([broken, Connection((BEGIN, event(1), event(2))), Connection((BEGIN, END))])
    assert seqs(await receive(both, streams)) == [1, 2, 3]
    assert streams.last_ids == [None, "1", "2"]


async def test_caller_may_start_after_an_event_and_stop_before_the_last(both: Both) -> None:
    streams = Script([Connection((BEGIN, END))])
    assert seqs(await receive(both, streams, after=2)) == [3]
    assert streams.last_ids == ["2"]
    assert await receive(both, Script([Connection(status=204)]), after=3) == []
    assert seqs(await receive(both, Script([Connection((BEGIN, event(1), event(2), END))]), most=1)) == [1]


@pytest.mark.parametrize(
    ("connection", "error", "message"),
    [
        (Connection(status=503), Unavailable, "as told"),
        (Connection(), ConnectionFailed, "ended without a frame"),  # a stream without any frame is a failure
    ],
)
async def test_consecutive_failures_are_bounded(
    both: Both, connection: Connection, error: type[Exception], message: str
) -> None:
    streams = Script([connection] * 5)
    with pytest.raises(error, match=message):
        await receive(both, streams)
    assert (len(streams.requested), len(both.pauses)) == (5, 4)


@pytest.mark.parametrize("status", [429, 503])
async def test_temporary_refusals_are_retried_and_logged(both: Both, status: int) -> None:
    refusal = Connection(status=status, headers={"Retry-After": "2"})
    streams = Script([refusal, refusal, Connection((BEGIN, END))])
    with capture_logs() as logs:
        assert seqs(await receive(both, streams)) == [3]
    assert both.pauses[:2] == pytest.approx([2.1, 2.2])
    printed = [entry for entry in logs if entry["event"] == "aex_events_resumed"]
    assert [(entry["failures"], entry["reason"]) for entry in printed] == [(1, "as_told"), (2, "as_told")]


async def test_received_frame_resets_the_number_of_failures(both: Both) -> None:
    row = [Connection(status=503)] * 4
    streams = Script([*row, Connection((BEGIN,)), *row, Connection((BEGIN, END))])
    assert seqs(await receive(both, streams)) == [3]


async def test_aborted_stream_is_raised_without_retries(both: Both) -> None:
    both.retries = NO_RETRIES
    with pytest.raises(ConnectionFailed):
        await receive(both, Script([Connection((BEGIN, event(1)), broken=True)]))


@pytest.mark.parametrize(("status", "kind"), [(401, Unauthenticated), (404, NotFound)])
async def test_permanent_refusals_are_raised_at_once(both: Both, status: int, kind: type[Exception]) -> None:
    streams = Script([Connection(status=status)])
    with pytest.raises(kind):
        await receive(both, streams)
    assert both.pauses == []


@pytest.mark.parametrize(
    "connection",
    [
        Connection(("<html>a proxy's page</html>",), media_type="text/html"),
        Connection((BEGIN, 'event: held\ndata: {"seq": "x"}\nid: 1\n\n')),
        Connection((BEGIN, "event: held\ndata: half\nid: 1\n\n")),
    ],
)
async def test_answer_without_an_event_is_not_understood(both: Both, connection: Connection) -> None:
    with pytest.raises(AnswerNotUnderstood):
        await receive(both, Script([connection]))
