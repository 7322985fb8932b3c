"""The outbox pump: committed events are published right after their commit, or by a sweep."""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from aex_models.backoff import Backoff
from aex_models.events import Event
from aex_runtime.bus.port import Bus, BusError, BusUnavailable, Outgoing
from aex_runtime.bus.wire import encode
from aex_runtime.clock import Clock, epoch_micros
from aex_runtime.ids import Ids
from aex_runtime.leases import LeaderElection, Lease, Leases
from aex_runtime.logs import describe_failure, log_context
from aex_runtime.low_watermark import LowWatermark
from aex_runtime.records import OutboxEntry, outbox_table
from aex_runtime.retry import Retries
from aex_runtime.store.port import Bound, Scalar, Store, StoreUnavailable, Transaction
from aex_runtime.store.table import Stored
from aex_runtime.tracing.spans import MessageSpans

_BACKOFF = Backoff(first=timedelta(milliseconds=200), cap=timedelta(seconds=5))
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class OutboxPolicy:
    """Limits and intervals of the outbox pump."""

    batch: int = 100
    max_waiting: int = 10_000
    """Maximum of events in memory, and of published events whose rows are not deleted.

    The sweep publishes others, perhaps again.
    """
    grace: timedelta = timedelta(seconds=2)
    """The age up to which only the process that committed an event publishes it."""
    sweep_every: timedelta = timedelta(seconds=1)
    delete_after: timedelta = timedelta(milliseconds=200)
    """Rows of published events are deleted together, this long after the first of them; well below `grace`."""
    lease_ttl: timedelta = timedelta(seconds=10)
    drain: timedelta = timedelta(seconds=5)
    """The time of a stopping pump to publish its events and to delete their rows."""


class OutboxPump:
    """Publishes a service's events, at least once."""

    def __init__(
        self,
        service: str,
        store: Store,
        bus: Bus,
        clock: Clock,
        ids: Ids,
        leases: Leases,
        policy: OutboxPolicy | None = None,
        spans: MessageSpans | None = None,
    ) -> None:
        self._table = outbox_table(service)
        self._store = store
        self._bus = bus
        self._clock = clock
        self._ids = ids
        self._policy = policy or OutboxPolicy()
        self._spans = spans or MessageSpans(service)
        self._lease = LeaderElection(leases, clock, ids, "outbox", self._policy.lease_ttl)
        self._waiting: deque[Event] = deque()
        self._published: list[str] = []
        self._publishing: frozenset[str] = frozenset()
        self._low_watermark = LowWatermark()
        self._wake = asyncio.Event()
        self._has_published = asyncio.Event()

    def notify(self, events: Iterable[Event]) -> None:
        """Publish events that were committed just now. Called on the event loop."""
        committed = list(events)
        for event in committed:
            self._low_watermark = self._low_watermark.note_write(event.time)
        free = max(self._policy.max_waiting - len(self._waiting), 0)  # a failed batch may have exceeded the limit
        self._waiting.extend(committed[:free])
        self._wake.set()

    async def run(self) -> None:
        """Publish until cancelled; then publish and delete the events in memory, for at most `drain`."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._publish_promptly())
                tasks.create_task(self._delete_promptly())
                tasks.create_task(self._lease.run(self._sweep_repeatedly))
        finally:
            await self._drain()

    async def sweep(self) -> int:
        """Publish the events in the store that are older than the grace, oldest first; return their number.

        Starts at the low watermark. Raises `BusUnavailable`, `StoreUnavailable`. An event that the bus refuses remains
        and is logged; the others are published.
        """
        now = self._clock.now()
        self._low_watermark = self._low_watermark.start(now)
        horizon = now - self._policy.grace
        bounds = (*self._low_watermark.bounds, Bound("<=", epoch_micros(horizon)))
        after: tuple[Scalar, str] | None = None
        remaining_at: datetime | None = None
        published, limit = 0, self._policy.batch
        while True:
            page = await self._table.find(self._store, order="created_at", bounds=bounds, after=after, limit=limit)
            done = await self._sweep_page(page)
            published += len(done)
            if remaining_at is None:
                remaining_at = next((row.record.created_at for row in page if row.document.key not in done), None)
            is_last = len(page) < limit
            end = horizon if is_last else page[-1].record.created_at
            self._low_watermark = self._low_watermark.advance(remaining_at or end)
            if is_last:
                return published
            after = page[-1].document.fields["created_at"], page[-1].document.key

    async def flush(self) -> int:
        """Publish the events of `notify` and delete their rows; return their number. Raises as `sweep` does."""
        published = 0
        while self._waiting:
            published += await self._publish_batch()
        await self._delete_published()
        return published

    async def _publish_promptly(self) -> None:
        retries = Retries(_BACKOFF, self._ids)
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                try:
                    await self._publish_batch()
                    retries.reset()
                except BusUnavailable as error:
                    await retries.log_and_wait("events_not_published", error)

    async def _publish_batch(self) -> int:
        """Publish the oldest waiting batch; return the number of its events. In an outage they wait again."""
        events = [self._waiting.popleft() for _ in range(min(self._policy.batch, len(self._waiting)))]
        self._publishing = frozenset(event.id for event in events)
        try:
            done = await self._publish(events)
        except BaseException:
            self._waiting.extendleft(reversed(events))
            raise
        finally:
            self._publishing = frozenset()
        self._published.extend(done[: max(self._policy.max_waiting - len(self._published), 0)])
        self._has_published.set()
        return len(done)

    async def _publish(self, events: Sequence[Event]) -> list[str]:
        """Publish events; return the ids of those that the bus accepted. Raises `BusUnavailable`."""
        if not events:
            return []
        try:
            with self._spans.publication_spans(events) as sent:
                await self._bus.publish([Outgoing(event.type, encode(event)) for event in sent])
        except BusUnavailable:
            raise
        except (BusError, ValueError) as error:
            if len(events) > 1:  # one of them is invalid: publish each alone
                return [event_id for event in events for event_id in await self._publish([event])]
            fields = {"event_id": events[0].id, "event_type": events[0].type, **log_context(events[0].subject)}
            _log.error("event_refused", reason=describe_failure(error), **fields)
            return []
        return [event.id for event in events]

    async def _delete_promptly(self) -> None:
        retries = Retries(_BACKOFF, self._ids)
        while True:
            await self._has_published.wait()
            self._has_published.clear()
            await asyncio.sleep(self._policy.delete_after.total_seconds())
            try:
                await self._delete_published()
                retries.reset()
            except StoreUnavailable as error:
                self._has_published.set()
                await retries.log_and_wait("outbox_rows_not_deleted", error)

    async def _delete_published(self) -> None:
        while self._published:
            batch = self._published[: self._policy.batch]
            await self._delete(batch)
            del self._published[: len(batch)]

    async def _delete(self, ids: Sequence[str]) -> None:
        if not ids:
            return

        async def write(transaction: Transaction) -> None:
            for event_id in ids:
                transaction.delete(self._table.collection, event_id)

        await self._store.transact(write)

    async def _sweep_repeatedly(self, _: Lease) -> None:
        """Sweep under the lease. Without it a late sweeper may publish an event twice, no worse."""
        self._low_watermark = LowWatermark()
        retries = Retries(_BACKOFF, self._ids)
        while True:
            try:
                await self.sweep()
                retries.reset()
            except (BusUnavailable, StoreUnavailable) as error:
                await retries.log_and_wait("outbox_not_swept", error)
            await asyncio.sleep(self._policy.sweep_every.total_seconds())

    async def _sweep_page(self, page: Sequence[Stored[OutboxEntry]]) -> frozenset[str]:
        """Publish and delete a page, without events in memory; return the ids of deleted rows."""
        in_memory = {event.id for event in self._waiting} | self._publishing | set(self._published)
        done = await self._publish([row.record.event for row in page if row.record.event.id not in in_memory])
        await self._delete(done)
        if done:
            _log.info("outbox_swept", published=len(done))
        return frozenset(done)

    async def _drain(self) -> None:
        """Flush within `drain`; the next sweep publishes the rest from the store."""
        try:
            async with asyncio.timeout(self._policy.drain.total_seconds()):
                await self.flush()
        except (BusUnavailable, StoreUnavailable, TimeoutError) as error:
            _log.warning("outbox_not_drained", waiting=len(self._waiting), reason=describe_failure(error))
