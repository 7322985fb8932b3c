"""Parked events: events that the bus has refused, kept apart until an operator decides."""

import structlog

from aex_models.events import Event
from aex_models.frozen import Frozen, Instant
from aex_runtime.bus.dataref import EventData
from aex_runtime.clock import Clock, epoch_micros
from aex_runtime.logs import log_context
from aex_runtime.records import OutboxEntry, outbox_table
from aex_runtime.store.port import Collection, Index, Store, Transaction
from aex_runtime.store.table import ItemPage, Position, Stored, Table, iterate_items

_MAX_REASON = 1_000
_COUNT_PAGE, _PAGE_BYTES = 100, 4_000_000
_log = structlog.get_logger(__name__)


class ParkedEvent(Frozen):
    """A committed event that the bus has refused, with the reason."""

    event: Event
    reason: str
    parked_at: Instant
    tries: int
    """Number of times that the event was parked, replays included."""


class NoSuchParkedEvent(LookupError):
    """An event that is not parked: it was replayed or discarded, or never parked."""


def parked_table(service: str) -> Table[ParkedEvent]:
    """Return the table of a service's parked events."""
    collection = Collection(f"{service}-outbox-parked", (Index(order="parked_at", direction="desc"),))
    return Table(collection, ParkedEvent, lambda parked: {"parked_at": epoch_micros(parked.parked_at)})


class ParkedEvents:
    """Parks, lists, replays and discards the events of one service."""

    def __init__(self, service: str, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._outbox, self._parked = outbox_table(service), parked_table(service)

    async def park(self, event_id: str, reason: str) -> None:
        """Move an event from the outbox to the parked events, and log an alarm.

        The reason is cut to 1,000 characters. Does nothing if the event is not in the outbox.
        """
        now = self._clock.now()

        async def move(transaction: Transaction) -> ParkedEvent | None:
            found = await self._outbox.get(transaction, event_id)
            if found is None:
                return None
            entry = found.record
            parked = ParkedEvent(event=entry.event, reason=reason[:_MAX_REASON], parked_at=now, tries=entry.tries + 1)
            transaction.delete(self._outbox.collection, event_id)
            transaction.put(self._parked.collection, event_id, *self._parked.encode(parked))
            return parked

        parked = await self._store.transact(move)
        if parked is not None:
            fields = {"event_id": event_id, "event_type": parked.event.type, **log_context(parked.event.subject)}
            _log.critical("event_parked", alarm=True, reason=parked.reason, tries=parked.tries, **fields)

    async def list(self, limit: int = 50, after: Position | None = None) -> ItemPage[Stored[ParkedEvent]]:
        """Return a page of parked events, newest first. A page of large events may have fewer than `limit`."""
        found = await self._parked.find(
            self._store, order="parked_at", direction="desc", after=after, limit=limit, max_bytes=_PAGE_BYTES
        )
        last = found[-1].document if found else None
        return ItemPage(found, (last.fields["parked_at"], last.key) if last else None)

    async def get(self, event_id: str) -> Stored[ParkedEvent]:
        """Return a parked event with its document. Raises `NoSuchParkedEvent`."""
        found = await self._parked.get(self._store, event_id)
        if found is None:
            raise NoSuchParkedEvent(event_id)
        return found

    async def replay(self, event_id: str, event_data: EventData) -> None:
        """Move a parked event back to the outbox; the running service then publishes it within seconds.

        Its data are encoded again, and stored as a blob if large. Raises `NoSuchParkedEvent`, `BlobUnavailable`.
        """
        event = await event_data.store_if_large((await self.get(event_id)).record.event)
        now = self._clock.now()

        async def move(transaction: Transaction) -> None:
            found = await self._parked.get(transaction, event_id)
            if found is None:
                raise NoSuchParkedEvent(event_id)
            entry = OutboxEntry(event=event, created_at=now, tries=found.record.tries)
            transaction.delete(self._parked.collection, event_id)
            transaction.put(self._outbox.collection, event_id, *self._outbox.encode(entry))

        await self._store.transact(move)
        _log.info("parked_event_replayed", event_id=event_id, event_type=event.type, **log_context(event.subject))

    async def discard(self, event_id: str, reason: str, by: str) -> None:
        """Delete a parked event permanently and log who did it and why. Raises `NoSuchParkedEvent`."""

        async def delete(transaction: Transaction) -> Event:
            found = await self._parked.get(transaction, event_id)
            if found is None:
                raise NoSuchParkedEvent(event_id)
            transaction.delete(self._parked.collection, event_id)
            return found.record.event

        event = await self._store.transact(delete)
        fields = {"event_id": event_id, "event_type": event.type, **log_context(event.subject)}
        _log.warning("parked_event_discarded", audit=True, reason=reason, by=by, **fields)

    async def count(self, limit: int) -> int:
        """Return the number of parked events, at most `limit`. It reads them page by page."""
        count = 0
        async for _ in iterate_items(self.list, _COUNT_PAGE, limit):
            count += 1
        return count
