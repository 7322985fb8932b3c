"""Following a contract with both clients: across streams that end, break off and are refused, without gap or double."""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass, field

import pytest
from structlog.testing import capture_logs

from aex_client import (
    NO_RETRIES,
    AexClient,
    AnswerNotUnderstood,
    AsyncAexClient,
    ConnectionFailed,
    Endpoints,
    NotFound,
    RetryPolicy,
    Unauthenticated,
    Unavailable,
)
from aex_client.retries import FIVE_ATTEMPTS
from aex_models.contract_events import ContractEvent
from tests.libs.client.platform import served
from tests.libs.client.streams import BEAT, BEGIN, Connection, Streams, event

END = event(3, "verification_exhausted")


@dataclass
class Follower:
    """One of the two clients on a script, with what it slept."""

    kind: str
    retries: RetryPolicy = FIVE_ATTEMPTS
    pauses: list[float] = field(default_factory=list)
    tokens: Iterator[str] = field(default_factory=lambda: (f"token-{number}" for number in range(99)))

    async def heard(self, streams: Streams, after: int | None = None, most: int = 99) -> list[ContractEvent]:
        """The first events, at most so many."""
        with served(streams) as url:
            endpoints = Endpoints(*[url] * 4)
            if self.kind == "sync":
                return await asyncio.to_thread(self._blocking, endpoints, after, most)
            return await self._awaited(endpoints, after, most)

    def _blocking(self, endpoints: Endpoints, after: int | None, most: int) -> list[ContractEvent]:
        found: list[ContractEvent] = []
        with AexClient(
            endpoints, self._token, retries=self.retries, sleep=self.pauses.append, jitter=lambda: 0.5
        ) as client:
            for each in client.events("ctr_1", after):
                found.append(each)
                if len(found) == most:
                    break
        return found

    async def _awaited(self, endpoints: Endpoints, after: int | None, most: int) -> list[ContractEvent]:
        found: list[ContractEvent] = []

        async def sleep(seconds: float) -> None:
            self.pauses.append(seconds)

        async with (
            AsyncAexClient(endpoints, self._token, retries=self.retries, sleep=sleep, jitter=lambda: 0.5) as client,
            aclosing(client.events("ctr_1", after)) as events,
        ):
            async for each in events:
                found.append(each)
                if len(found) == most:
                    break
        return found

    def _token(self) -> str:
        return next(self.tokens)


@pytest.fixture(params=["sync", "async"])
def follower(request: pytest.FixtureRequest) -> Follower:
    return Follower(request.param)


def seqs(events: list[ContractEvent]) -> list[int]:
    return [each.seq for each in events]


async def test_events_come_as_models_up_to_the_one_that_ends_the_contract(follower: Follower) -> None:
    told = event(1, code="too_long", message="Too long.", attempt_id="att_1", attempt_counted=True)
    streams = Streams([Connection((BEGIN, told, BEAT, event(2, "held"), END, event(4)))])
    first, held, end = await follower.heard(streams)
    assert isinstance(first, ContractEvent)
    assert (first.seq, first.code, first.message, first.attempt_counted) == (1, "too_long", "Too long.", True)
    assert (held.type, end.type) == ("held", "verification_exhausted")
    [asked] = streams.asked
    assert (asked["authorization"], asked["accept"]) == ("Bearer token-0", "text/event-stream")
    assert "last-event-id" not in asked


async def test_a_stream_that_ends_is_resumed_after_the_last_event_with_a_token_of_its_own(follower: Follower) -> None:
    streams = Streams([Connection((BEGIN, event(1))), Connection((BEGIN, BEAT)), Connection((BEGIN, event(2), END))])
    assert seqs(await follower.heard(streams)) == [1, 2, 3]
    assert streams.last_ids == [None, "1", "1"]
    assert [each["authorization"] for each in streams.asked] == [f"Bearer token-{number}" for number in range(3)]
    assert follower.pauses[:2] == pytest.approx([0.3, 0.3])  # the service asks for 0.4 s, jittered


async def test_a_stream_that_breaks_off_is_resumed_and_half_an_event_is_none(follower: Follower) -> None:
    half = event(2).rstrip("\n")
    streams = Streams([Connection((BEGIN, event(1), half), broken=True), Connection((BEGIN, event(2), END))])
    assert seqs(await follower.heard(streams)) == [1, 2, 3]
    assert streams.last_ids == [None, "1"]


async def test_an_event_that_comes_again_is_told_once(follower: Follower) -> None:
    streams = Streams([Connection((BEGIN, event(1))), Connection((BEGIN, event(1), event(2), END))])
    assert seqs(await follower.heard(streams)) == [1, 2, 3]


async def test_one_begins_where_one_likes(follower: Follower) -> None:
    streams = Streams([Connection((BEGIN, END))])
    assert seqs(await follower.heard(streams, after=2)) == [3]
    assert streams.last_ids == ["2"]


async def test_a_contract_that_is_over_and_read_has_nothing_more(follower: Follower) -> None:
    assert await follower.heard(Streams([Connection(status=204)]), after=3) == []


async def test_one_may_leave_before_the_end(follower: Follower) -> None:
    streams = Streams([Connection((BEGIN, event(1), event(2), END))])
    assert seqs(await follower.heard(streams, most=1)) == [1]


@pytest.mark.parametrize("status", [429, 503])
async def test_refusals_that_pass_are_waited_for_and_logged(follower: Follower, status: int) -> None:
    refusal = Connection(status=status, headers={"Retry-After": "2"})
    streams = Streams([refusal, refusal, Connection((BEGIN, END))])
    with capture_logs() as logs:
        assert seqs(await follower.heard(streams)) == [3]
    assert follower.pauses[:2] == pytest.approx([2.1, 2.2])
    told = [entry for entry in logs if entry["event"] == "aex_events_resumed"]
    assert [(entry["failures"], entry["reason"]) for entry in told] == [(1, "as_told"), (2, "as_told")]


async def test_failures_in_a_row_are_bounded(follower: Follower) -> None:
    streams = Streams([Connection(status=503)] * 5)
    with pytest.raises(Unavailable):
        await follower.heard(streams)
    assert (len(streams.asked), len(follower.pauses)) == (5, 4)


async def test_failures_are_forgotten_once_something_is_heard(follower: Follower) -> None:
    row = [Connection(status=503)] * 4
    streams = Streams([*row, Connection((BEGIN,)), *row, Connection((BEGIN, END))])
    assert seqs(await follower.heard(streams)) == [3]


async def test_streams_that_say_nothing_at_all_are_failures(follower: Follower) -> None:
    streams = Streams([Connection()] * 5)
    with pytest.raises(ConnectionFailed, match="ended before it began"):
        await follower.heard(streams)
    assert len(streams.asked) == 5


async def test_without_retries_a_broken_stream_is_told(follower: Follower) -> None:
    follower.retries = NO_RETRIES
    with pytest.raises(ConnectionFailed):
        await follower.heard(Streams([Connection((BEGIN, event(1)), broken=True)]))


@pytest.mark.parametrize(("status", "kind"), [(401, Unauthenticated), (404, NotFound)])
async def test_other_refusals_are_told_at_once(follower: Follower, status: int, kind: type[Exception]) -> None:
    streams = Streams([Connection(status=status)])
    with pytest.raises(kind):
        await follower.heard(streams)
    assert follower.pauses == []


@pytest.mark.parametrize(
    "connection",
    [
        Connection(("<html>a proxy's page</html>",), media_type="text/html"),
        Connection((BEGIN, 'event: held\ndata: {"seq": "x"}\nid: 1\n\n')),
        Connection((BEGIN, "event: held\ndata: half\nid: 1\n\n")),
    ],
)
async def test_what_is_no_event_is_not_understood(follower: Follower, connection: Connection) -> None:
    with pytest.raises(AnswerNotUnderstood):
        await follower.heard(Streams([connection]))
