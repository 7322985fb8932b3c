"""The services' own stores and queues, read and fed from outside while the suite runs."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from aex_models.audiences import project_event_data
from aex_models.events import TOPICS, Event, OutcomeVerified, derive_event_id
from aex_models.outcome import OutcomeRecord
from aex_models.settlement import LedgerTransaction
from aex_runtime.bus.embedded import EmbeddedBus
from aex_runtime.bus.port import Message, Outgoing
from aex_runtime.bus.wire import encode_event
from aex_runtime.service import Backends, open_backends
from aex_runtime.store.port import Query, key_of
from aex_settlement.repository.journal import UNSEALED, read_journal_head
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.repository.pages import iterate_records
from aex_settlement.repository.projections import read_projection_state
from aex_settlement.rules.projections import Projection
from aex_verification.repository import OUTCOMES
from tests.e2e.jobs import eventually
from tests.e2e.live import Live
from tests.e2e.parties import TIMEOUT_S

T = TypeVar("T")


def with_backends(live: Live, service: str, act: Callable[[Backends], Awaitable[T]]) -> T:
    """Run `act` on the service's store and bus, opened beside the running service, and return its result."""

    async def opened() -> T:
        backends = open_backends(live.settings, service)
        try:
            return await act(backends)
        finally:
            await backends.bus.close()
            await backends.store.close()

    return asyncio.run(opened())


def stored_outcome(live: Live, contract_id: str) -> OutcomeRecord:
    """The record as verification wrote it."""

    async def read(backends: Backends) -> OutcomeRecord:
        stored = await OUTCOMES.get(backends.store, key_of(contract_id))
        assert stored is not None
        return stored.record

    return with_backends(live, "verification", read)


def outcome_event(record: OutcomeRecord) -> Event:
    """The `outcome.verified` that carried the record: the same id, and the same data."""
    return Event(
        id=derive_event_id("outcome.verified", record.contract_id),
        type="outcome.verified",
        source="/aex/verification",
        subject=record.contract_id,
        time=record.created_at,
        data=project_event_data(OutcomeVerified(outcome=record)),
    )


def publish_messages(live: Live, topic: str, messages: list[Message]) -> None:
    """Put messages on the bus of the running suite."""

    async def put(backends: Backends) -> None:
        await backends.bus.publish([Outgoing(topic, message) for message in messages])

    with_backends(live, "verification", put)


def publish_events(live: Live, events: list[Event]) -> None:
    """Put events of one type on the bus of the running suite."""
    publish_messages(live, events[0].type, [encode_event(event) for event in events])


def until_dealt_with(live: Live, topic: str) -> None:
    """Wait until no subscriber of the topic has messages in its queue file; `until_handled` needs no file."""

    async def left(backends: Backends) -> int:
        assert isinstance(backends.bus, EmbeddedBus)
        return sum([await backends.bus.count_unacked(service) for service in TOPICS[topic].subscribers])

    eventually(lambda: True if with_backends(live, "verification", left) == 0 else None, what="an empty queue")


def until_handled(live: Live, topic: str, event_id: str, times: int = 1) -> None:
    """Wait until each subscriber has handled the event that often, or made it a dead letter.

    The suite must log at level debug.
    """

    def count(service: str) -> int:
        ends = [line for line in live.log(service) if line["event"] in {"event_handled", "dead_letter"}]
        return sum(line.get("event_id") == event_id for line in ends)

    subscribers = TOPICS[topic].subscribers
    eventually(lambda: all(count(each) >= times for each in subscribers) or None, what=f"the end of {topic} {event_id}")


def transactions_of(live: Live, contract_id: str) -> list[LedgerTransaction]:
    """Every transaction in the ledger that names the contract."""
    return transactions_by_contract(live).get(contract_id, [])


def transactions_by_contract(live: Live) -> dict[str, list[LedgerTransaction]]:
    """The whole ledger, but for what names no contract."""

    async def read(backends: Backends) -> dict[str, list[LedgerTransaction]]:
        found: dict[str, list[LedgerTransaction]] = {}
        query = Query(TRANSACTIONS.collection, order="occurred_at", limit=200)
        async for each in iterate_records(backends.store, TRANSACTIONS, query):
            if each.contract_id is not None:
                found.setdefault(each.contract_id, []).append(each)
        return found

    return with_backends(live, "settlement", read)


def until_in_the_books(live: Live, within_s: float = TIMEOUT_S) -> None:
    """Wait until all that was committed to the ledger is sealed, and applied to both projections."""

    async def look(backends: Backends) -> bool:
        # In this order: what does not wait any more is in a batch up to the head that is read afterwards.
        if await UNSEALED.find(backends.store, order="occurred_at", limit=1):
            return False
        head = await read_journal_head(backends.store)
        states = [await read_projection_state(backends.store, each) for each in Projection]
        return head is not None and all(each is not None and each.seq >= head.seq for each in states)

    async def until(backends: Backends) -> None:
        deadline = time.monotonic() + within_s
        while not await look(backends):
            assert time.monotonic() < deadline, f"the books were not complete within {within_s:g} s"
            await asyncio.sleep(0.02)

    with_backends(live, "settlement", until)
