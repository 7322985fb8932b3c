"""Units of work, which commit records, events and timers in one transaction."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from pydantic import BaseModel

from aex_models.audiences import project_event_data
from aex_models.events import TOPICS, Event, derive_event_id
from aex_runtime.bus.dataref import MAX_INLINE_BYTES, EventData
from aex_runtime.clock import Clock
from aex_runtime.measures import UNMEASURED, BufferedMeasures, Measures
from aex_runtime.records import OutboxEntry, Timer, outbox_table, timer_key, timers_table
from aex_runtime.store.port import Store, Transaction
from aex_runtime.store.table import Stored, Table
from aex_runtime.telemetry import current_trace_context
from aex_runtime.yielding import run_in_thread_if_large

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class QueuedEvent:
    """An event as stored in the outbox, with the size of its row in bytes."""

    event: Event
    size: int


@dataclass(frozen=True, slots=True)
class Committed:
    """The events and timers of a unit that was committed."""

    queued: tuple[QueuedEvent, ...]
    timers: tuple[Timer, ...]

    @property
    def events(self) -> tuple[Event, ...]:
        """The events, without the sizes of their rows."""
        return tuple(each.event for each in self.queued)


@dataclass(slots=True)
class Unit:
    """A transaction with its events and timers, passed to the function that `UnitOfWork.run` runs.

    The function runs again after a conflict. In it all reads precede the writes.
    """

    service: str
    transaction: Transaction
    now: datetime
    events: list[Event] = field(default_factory=list)
    timers: list[Timer] = field(default_factory=list)
    measures: BufferedMeasures = field(default_factory=BufferedMeasures)
    """Recorded once, when this run of the function is committed."""

    async def get(self, table: Table[M], key: str) -> Stored[M] | None:
        """Return the record, or None. It must be unchanged at the commit."""
        return await table.get(self.transaction, key)

    async def get_many(self, table: Table[M], keys: Sequence[str]) -> list[Stored[M] | None]:
        """Return the records in the order of the keys, None for absent ones. All must be unchanged at commit."""
        return await table.get_many_stored(self.transaction, keys)

    def create(self, table: Table[M], key: str, record: M) -> None:
        """Write a record that must not exist; if it exists, the commit raises `AlreadyExists`."""
        self.transaction.create(table.collection, key, *table.encode(record))

    async def create_large(self, table: Table[M], key: str, record: M) -> None:
        """Write a record that must not exist, of up to megabytes; a large one is encoded in a thread."""
        encoded = await run_in_thread_if_large(record, partial(table.encode, record))
        self.transaction.create(table.collection, key, *encoded)

    def update(self, table: Table[M], stored: Stored[M], record: M) -> None:
        """Replace a record; if it has changed at the commit, the function runs again."""
        self.transaction.update(table.collection, stored.document, *table.encode(record))

    def put(self, table: Table[M], key: str, record: M) -> None:
        """Write a record, whether or not it exists."""
        self.transaction.put(table.collection, key, *table.encode(record))

    async def put_large(self, table: Table[M], key: str, record: M) -> None:
        """Write a record of up to megabytes, whether or not it exists; a large one is encoded in a thread."""
        encoded = await run_in_thread_if_large(record, partial(table.encode, record))
        self.transaction.put(table.collection, key, *encoded)

    def delete(self, table: Table[M], key: str) -> None:
        """Delete a record if it exists."""
        self.transaction.delete(table.collection, key)

    def emit(self, event_type: str, subject: str, data: BaseModel, *cause: object) -> Event:
        """Add an event, which is published after the commit, and return it.

        Its id follows from type, subject and `cause`, so that a repeated handler emits the same event. The running
        trace is its trace.
        """
        if type(data) is not TOPICS[event_type].data:
            raise TypeError(f"{event_type} carries {TOPICS[event_type].data.__name__}, not {type(data).__name__}")
        event = Event(
            id=derive_event_id(event_type, subject, *cause),
            type=event_type,
            source=f"/aex/{self.service}",
            subject=subject,
            time=self.now,
            data=project_event_data(data),
            **current_trace_context(),
        )
        self.events.append(event)
        return event

    async def write_outbox(self, event_data: EventData | None) -> tuple[QueuedEvent, ...]:
        """Write the unit's events as rows of the outbox; return them with the sizes of the rows.

        The data of a large event are first stored as a blob. If `event_data` is None, all rows have their data.
        `UnitOfWork` calls it after the unit's function.
        """
        table, queued = outbox_table(self.service), list[QueuedEvent]()
        for event in self.events:
            stored, (body, fields) = event, table.encode(OutboxEntry(event=event, created_at=self.now))
            # On the wire, where 1.0 has more digits, data take less than twice the bytes of their row.
            if event_data is not None and 2 * len(body) > MAX_INLINE_BYTES:
                stored = await event_data.store_if_large(event)
                body, fields = table.encode(OutboxEntry(event=stored, created_at=self.now))
            self.transaction.put(table.collection, event.id, body, fields)
            queued.append(QueuedEvent(stored, len(body)))
        return tuple(queued)

    def set_timer(self, kind: str, subject: str, due_at: datetime, payload: Mapping[str, Any] | None = None) -> None:
        """Set a timer, or move the existing one of this kind and subject.

        A past `due_at` becomes now, because the sweeper does not read timers due long before they were set.
        """
        timer = Timer(
            kind=kind,
            subject=subject,
            due_at=max(due_at, self.now),
            payload=dict(payload or {}),
            **current_trace_context(),
        )
        self.put(timers_table(self.service), timer_key(kind, subject), timer)
        self.timers.append(timer)

    def cancel_timer(self, kind: str, subject: str) -> None:
        """Delete the timer of this kind and subject if it exists."""
        self.delete(timers_table(self.service), timer_key(kind, subject))


class UnitOfWork:
    """Runs units of work on a service's store, and passes their events and timers to `on_commit`."""

    def __init__(
        self,
        service: str,
        store: Store,
        clock: Clock,
        on_commit: Callable[[Committed], None],
        measures: Measures = UNMEASURED,
        event_data: EventData | None = None,
    ) -> None:
        """`event_data` stores the data of large events; if it is None, all events carry their data."""
        self.service = service
        self.store = store
        self.measures = measures
        self._clock = clock
        self._on_commit = on_commit
        self._event_data = event_data

    async def run(self, fn: Callable[[Unit], Awaitable[T]]) -> T:
        """Run `fn` in a transaction, again after each conflict, and return its result.

        After the commit record its measures and call `on_commit`. Raises what `Store.transact` and `fn` raise.
        """
        last: Unit | None = None
        queued: tuple[QueuedEvent, ...] = ()

        async def attempt(transaction: Transaction) -> T:
            nonlocal last, queued
            last = Unit(self.service, transaction, self._clock.now())
            result = await fn(last)
            queued = await last.write_outbox(self._event_data)
            return result

        result = await self.store.transact(attempt)
        if last is not None:
            last.measures.flush(self.measures)
        if last is not None and (last.events or last.timers):
            self._on_commit(Committed(queued, tuple(last.timers)))
        return result
