"""The services' own stores and queues, read and fed from outside while the suite runs."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from typing import TypeVar

from aex_cli.suite.service_spec import MODULES
from aex_models.audiences import project_event
from aex_models.events import TOPICS, Event, OutcomeVerified, event_id
from aex_models.outcome import OutcomeRecord
from aex_models.settlement import LedgerTransaction
from aex_runtime.bus.embedded import EmbeddedBus
from aex_runtime.bus.port import Message, Outgoing
from aex_runtime.bus.wire import encode
from aex_runtime.service import Backends, open_backends
from aex_runtime.settings import RuntimeSettings
from aex_runtime.store.keys import key_of
from aex_settlement.repository import TRANSACTIONS
from aex_verification.repository import OUTCOMES
from tests.e2e.jobs import eventually
from tests.e2e.live import Live

T = TypeVar("T")
_MACHINERY = ("-leases", "-timers", "-outbox", "-idempotency", "-dead-letters", "-dead-letter-messages")


def with_backends(live: Live, service: str, act: Callable[[Backends], Awaitable[T]]) -> T:
    """What `act` makes of the service's store and of the bus, opened beside the running service."""

    async def opened() -> T:
        backends = open_backends(RuntimeSettings(data_dir=live.data_dir), service)
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
        id=event_id("outcome.verified", record.contract_id),
        type="outcome.verified",
        source="/aex/verification",
        subject=record.contract_id,
        time=record.created_at,
        data=project_event(OutcomeVerified(outcome=record)),
    )


def publish_messages(live: Live, topic: str, messages: list[Message]) -> None:
    """Put messages on the bus of the running suite."""

    async def put(backends: Backends) -> None:
        await backends.bus.publish([Outgoing(topic, message) for message in messages])

    with_backends(live, "verification", put)


def publish_events(live: Live, events: list[Event]) -> None:
    """Put events of one type on the bus of the running suite."""
    publish_messages(live, events[0].type, [encode(event) for event in events])


def until_dealt_with(live: Live, topic: str) -> None:
    """Wait until no subscriber of the topic has anything left in its queue."""

    async def left(backends: Backends) -> int:
        assert isinstance(backends.bus, EmbeddedBus)
        return sum([await backends.bus.backlog(service) for service in TOPICS[topic].subscribers])

    eventually(lambda: True if with_backends(live, "verification", left) == 0 else None, what="an empty queue")


def transactions_of(live: Live, contract_id: str) -> list[LedgerTransaction]:
    """Every transaction in the ledger that names the contract."""

    async def read(backends: Backends) -> list[LedgerTransaction]:
        found: list[LedgerTransaction] = []
        page = await TRANSACTIONS.find(backends.store, {}, "occurred_at", "desc", limit=200)
        while page:
            found += [each.record for each in page if each.record.contract_id == contract_id]
            last = page[-1].document
            after = (last.fields["occurred_at"], last.key)
            page = await TRANSACTIONS.find(backends.store, {}, "occurred_at", "desc", after=after, limit=200)
        return found

    return with_backends(live, "settlement", read)


def object_counts(live: Live) -> dict[str, int]:
    """How many records each collection has, leases, timers and the like apart."""
    return {name: count for name, count in _counts(live).items() if not name.endswith(_MACHINERY)}


def until_published(live: Live) -> None:
    """Wait until no service has an event left that it has not published."""

    def look() -> bool | None:
        return True if not any(name.endswith("-outbox") for name in _counts(live)) else None

    eventually(look, what="an empty outbox")


def _counts(live: Live) -> dict[str, int]:
    counts: dict[str, int] = {}
    for service in MODULES:
        path = live.data_dir / service / "store.sqlite3"
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            counts |= dict(connection.execute("SELECT collection, COUNT(*) FROM documents GROUP BY collection"))
    return counts
