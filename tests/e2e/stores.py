"""The services' own stores and queues, read and fed from outside while the suite runs."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from aex_models.audiences import project_event
from aex_models.events import TOPICS, Event, OutcomeVerified, event_id
from aex_models.outcome import OutcomeRecord
from aex_models.settlement import LedgerTransaction
from aex_runtime.bus.embedded import EmbeddedBus
from aex_runtime.bus.port import Message, Outgoing
from aex_runtime.bus.wire import encode
from aex_runtime.service import Backends, open_backends
from aex_runtime.store.keys import key_of
from aex_settlement.repository import TRANSACTIONS
from aex_verification.repository import OUTCOMES
from tests.e2e.jobs import eventually
from tests.e2e.live import Live

T = TypeVar("T")


def with_backends(live: Live, service: str, act: Callable[[Backends], Awaitable[T]]) -> T:
    """What `act` makes of the service's store and of the bus, opened beside the running service."""

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
    """Wait until no subscriber of the topic has anything left in its queue file; `until_handled` needs no file."""

    async def left(backends: Backends) -> int:
        assert isinstance(backends.bus, EmbeddedBus)
        return sum([await backends.bus.backlog(service) for service in TOPICS[topic].subscribers])

    eventually(lambda: True if with_backends(live, "verification", left) == 0 else None, what="an empty queue")


def transactions_of(live: Live, contract_id: str) -> list[LedgerTransaction]:
    """Every transaction in the ledger that names the contract."""
    return transactions_by_contract(live).get(contract_id, [])


def transactions_by_contract(live: Live) -> dict[str, list[LedgerTransaction]]:
    """The whole ledger, but for what names no contract."""

    async def read(backends: Backends) -> dict[str, list[LedgerTransaction]]:
        found: dict[str, list[LedgerTransaction]] = {}
        page = await TRANSACTIONS.find(backends.store, {}, "occurred_at", "desc", limit=200)
        while page:
            for each in page:
                if each.record.contract_id is not None:
                    found.setdefault(each.record.contract_id, []).append(each.record)
            last = page[-1].document
            after = (last.fields["occurred_at"], last.key)
            page = await TRANSACTIONS.find(backends.store, {}, "occurred_at", "desc", after=after, limit=200)
        return found

    return with_backends(live, "settlement", read)
