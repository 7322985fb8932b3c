"""Event streams of contracts on any replica, from the first rejection to the end, across restarts."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import httpx
import pytest
from httpx_sse import EventSource, ServerSentEvent

from aex_cli.suite.service_spec import MODULES
from aex_client import AexClient, Endpoints, RetryPolicy
from aex_models.contract_events import ContractEvent
from tests.e2e.jobs import GOOD, POOR, contract, deliver, eventually, until_status
from tests.e2e.live import Live
from tests.e2e.parties import TIMEOUT_S, Caller, Parties, parties_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
TO_THE_END = ["verification_rejected", "verification_rejected", "verification_exhausted"]


@pytest.fixture
def parties(replicated: Live) -> Parties:
    return parties_of(replicated)


def client_of(reader: Caller, replica: int) -> AexClient:
    """The reader's client, at this instance alone."""
    endpoints = Endpoints(*(reader.live.url(service, "", replica) for service in MODULES))
    return AexClient(endpoints, reader.token, retries=RetryPolicy(attempts=20))


def follow(reader: Caller, contract_id: str, replica: int, after: int | None = None) -> list[ContractEvent]:
    """Return every event up to the end."""
    with client_of(reader, replica) as client:
        return list(client.events(contract_id, after))


@contextmanager
def stream(reader: Caller, contract_id: str, replica: int) -> Iterator[Iterator[ServerSentEvent]]:
    """Return the frames of one connection."""
    url = reader.live.url("verification", f"/v1/contracts/{contract_id}/events", replica)
    headers = {"Authorization": f"Bearer {reader.token}"}
    with (
        httpx.Client(trust_env=False, timeout=TIMEOUT_S) as client,
        client.stream("GET", url, headers=headers) as answer,
    ):
        assert answer.status_code == 200
        yield EventSource(answer).iter_sse()


def test_contract_is_followed_on_every_instance_up_to_its_end(parties: Parties) -> None:
    contract_id = contract(parties, verification={"max_attempts": 2})
    with ThreadPoolExecutor(4) as pool:
        readers = (parties.agent, parties.consumer, parties.operator)
        following = [pool.submit(follow, each, contract_id, 1 + location % 2) for location, each in enumerate(readers)]
        following.append(pool.submit(follow, parties.agent, contract_id, 2))
        deliver(parties, contract_id, POOR)
        deliver(parties, contract_id, f"{POOR} at all")
        reported = [each.result() for each in following]
    for events in reported:
        assert [each.seq for each in events] == [1, 2, 3]
        assert [each.type for each in events] == TO_THE_END
        assert [each.attempts_used for each in events] == [1, 2, 2]
    agent, _, operator, _ = reported
    assert all(each.message for each in (*agent[:2], *operator[:2]))
    assert agent[0].code == "criteria_not_met"


def test_consumer_reads_feedback_of_an_output_after_paying_for_it(parties: Parties) -> None:
    contract_id = contract(parties, verification={"max_attempts": 2})
    with client_of(parties.consumer, 1) as client:
        events = client.events(contract_id)
        deliver(parties, contract_id, POOR)
        first = next(events)
        deliver(parties, contract_id, f"{POOR} at all")
        assert [each.type for each in (first, *events)] == TO_THE_END
    assert first.message is None
    paid, owed = (follow(each, contract_id, 2) for each in (parties.consumer, parties.agent))
    assert [each.message for each in paid] == [each.message for each in owed]
    assert paid[0].message


def test_a_stream_is_resumed_on_another_instance_without_gap_or_double(parties: Parties) -> None:
    contract_id = contract(parties, verification={"max_attempts": 3})
    deliver(parties, contract_id, POOR)
    with stream(parties.agent, contract_id, 1) as frames:
        first = next(frame for frame in frames if frame.data)
    assert (first.id, first.event) == ("1", "verification_rejected")
    deliver(parties, contract_id, f"{POOR} at all")
    deliver(parties, contract_id, GOOD)
    until_status(parties.agent, contract_id, "passed")
    rest = follow(parties.agent, contract_id, 2, after=int(first.id))
    assert [(each.seq, each.type) for each in rest] == [(2, "verification_rejected"), (3, "verification_passed")]
    assert follow(parties.agent, contract_id, 1, after=3) == []


def test_readers_that_have_gone_leave_nothing(replicated: Live, parties: Parties) -> None:
    contract_id = contract(parties)

    def streams() -> float:
        text = replicated.http.get(replicated.url("verification", "/metrics", 1)).text
        return float(
            next(line for line in text.splitlines() if line.startswith("aex_event_streams")).rpartition(" ")[2]
        )

    with ExitStack() as stack:
        readers = [stack.enter_context(stream(parties.agent, contract_id, 1)) for _ in range(5)]
        assert [next(frames).retry for frames in readers] == [1_000] * 5
        eventually(lambda: streams() == 5 or None, what="five streams")
    eventually(lambda: streams() == 0 or None, what="the end of the streams")


def test_deadline_is_sent_to_event_subscribers(parties: Parties) -> None:
    contract_id = contract(parties, verification={"deadline_s": 2})
    assert [each.type for each in follow(parties.consumer, contract_id, 1)] == ["expired"]


def test_stopping_instance_ends_its_streams_and_readers_continue(replicated: Live, parties: Parties) -> None:
    contract_id = contract(parties, verification={"max_attempts": 2})
    deliver(parties, contract_id, POOR)
    with (
        client_of(parties.agent, 2) as client,
        ThreadPoolExecutor(1) as pool,
        stream(parties.agent, contract_id, 2) as frames,
    ):
        events = client.events(contract_id)
        reported = [next(events)]
        rest = pool.submit(lambda: [*events])
        assert next(frame for frame in frames if frame.data).id == "1"
        replicated.process("verification", 2).terminate()
        assert [frame for frame in frames if frame.data and frame.id != "1"] == []  # to its proper end
        replicated.running.wait_for_error("verification-2 is ready again")
        parties.agent.post("verification", f"/v1/contracts/{contract_id}/finalize")
        reported += rest.result()
    assert [each.type for each in reported] == ["verification_rejected", "finalised"]
