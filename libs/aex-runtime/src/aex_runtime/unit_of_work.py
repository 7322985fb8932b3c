"""One transaction of a service: records, events and timers committed together, or not at all."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from pydantic import BaseModel

from aex_models.audiences import project_event
from aex_models.events import TOPICS, Event, event_id
from aex_runtime.clock import Clock
from aex_runtime.long_values import in_a_thread_if_long
from aex_runtime.measures import UNMEASURED, Kept, Measures
from aex_runtime.outbox_entry import OutboxEntry, outbox_table
from aex_runtime.store.port import Store, Transaction
from aex_runtime.store.table import Stored, Table
from aex_runtime.telemetry import current_trace
from aex_runtime.timer_entry import Timer, timer_key, timers_table

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Committed:
    """What a committed unit left for others to do."""

    events: tuple[Event, ...]
    timers: tuple[Timer, ...]


@dataclass(slots=True)
class Unit:
    """The inside of one transaction. Reads come before writes; the function that uses it may run again."""

    service: str
    transaction: Transaction
    now: datetime
    events: list[Event] = field(default_factory=list)
    timers: list[Timer] = field(default_factory=list)
    measures: Kept = field(default_factory=Kept)
    """Takes what is measured, and tells it once this run of the function is committed."""

    async def get(self, table: Table[M], key: str) -> Stored[M] | None:
        """The record, or None; at commit it must still be so."""
        return await table.get(self.transaction, key)

    async def get_many(self, table: Table[M], keys: Sequence[str]) -> list[Stored[M] | None]:
        """The records in the order of the keys, in one call; at commit they must still be so."""
        return await table.get_stored(self.transaction, keys)

    def create(self, table: Table[M], key: str, record: M) -> None:
        """Write a record that must not exist (`AlreadyExists` at commit)."""
        self.transaction.create(table.collection, key, *table.encode(record))

    async def create_large(self, table: Table[M], key: str, record: M) -> None:
        """As `create`, for a record of perhaps megabytes: then encoded in a thread, so that it delays nobody else."""
        encoded = await in_a_thread_if_long(record, partial(table.encode, record))
        self.transaction.create(table.collection, key, *encoded)

    def update(self, table: Table[M], seen: Stored[M], record: M) -> None:
        """Replace a record that nobody else has changed since it was read."""
        self.transaction.update(table.collection, seen.document, *table.encode(record))

    def put(self, table: Table[M], key: str, record: M) -> None:
        """Write a record whether or not it exists."""
        self.transaction.put(table.collection, key, *table.encode(record))

    async def put_large(self, table: Table[M], key: str, record: M) -> None:
        """As `put`, for a record of perhaps megabytes: then encoded in a thread, so that it delays nobody else."""
        encoded = await in_a_thread_if_long(record, partial(table.encode, record))
        self.transaction.put(table.collection, key, *encoded)

    def delete(self, table: Table[M], key: str) -> None:
        """Remove a record whether or not it exists."""
        self.transaction.delete(table.collection, key)

    def emit(self, event_type: str, subject: str, data: BaseModel, *cause: object) -> Event:
        """Publish an event with this transaction. Its id is made from type, subject and `cause` alone."""
        if type(data) is not TOPICS[event_type].data:
            raise TypeError(f"{event_type} carries {TOPICS[event_type].data.__name__}, not {type(data).__name__}")
        trace = current_trace()
        event = Event(
            id=event_id(event_type, subject, *cause),
            type=event_type,
            source=f"/aex/{self.service}",
            subject=subject,
            time=self.now,
            traceparent=trace.get("traceparent"),
            tracestate=trace.get("tracestate"),
            data=project_event(data),
        )
        table = outbox_table(self.service)
        self.put(table, event.id, OutboxEntry(event=event, created_at=self.now))
        self.events.append(event)
        return event

    def set_timer(self, kind: str, subject: str, due_at: datetime, payload: Mapping[str, Any] | None = None) -> None:
        """Fire `kind` for `subject` at `due_at`; one timer for each pair, a later call moves it.

        A moment that is past becomes now: the sweep does not look for what is due from long before it was set.
        """
        trace = current_trace()
        timer = Timer(
            kind=kind,
            subject=subject,
            due_at=max(due_at, self.now),
            payload=dict(payload or {}),
            traceparent=trace.get("traceparent"),
            tracestate=trace.get("tracestate"),
        )
        self.put(timers_table(self.service), timer_key(kind, subject), timer)
        self.timers.append(timer)

    def cancel_timer(self, kind: str, subject: str) -> None:
        """Forget the timer, where there is one."""
        self.delete(timers_table(self.service), timer_key(kind, subject))


class UnitOfWork:
    """Runs units against a service's store and tells the pumps what they committed."""

    def __init__(
        self,
        service: str,
        store: Store,
        clock: Clock,
        on_commit: Callable[[Committed], None],
        measures: Measures = UNMEASURED,
    ) -> None:
        self.service = service
        self.store = store
        self.measures = measures
        self._clock = clock
        self._on_commit = on_commit

    async def run(self, fn: Callable[[Unit], Awaitable[T]]) -> T:
        """Run `fn` in one transaction. Raises what `Store.transact` raises, and what `fn` raises."""
        last: Unit | None = None

        async def attempt(transaction: Transaction) -> T:
            nonlocal last
            last = Unit(self.service, transaction, self._clock.now())
            return await fn(last)

        result = await self.store.transact(attempt)
        if last is not None:
            last.measures.tell(self.measures)
        if last is not None and (last.events or last.timers):
            self._on_commit(Committed(tuple(last.events), tuple(last.timers)))
        return result
