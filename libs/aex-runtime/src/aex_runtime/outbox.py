"""The outbox pump, which publishes committed events at once, or from the store by a sweep."""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

import structlog

from aex_models.backoff import Backoff
from aex_models.events import Event
from aex_runtime.bus.port import Bus, BusError, BusUnavailable, Outgoing
from aex_runtime.bus.wire import encode_event
from aex_runtime.clock import Clock, epoch_micros
from aex_runtime.ids import Ids
from aex_runtime.leases import LeaderElection, Lease, Leases
from aex_runtime.logs import describe_failure
from aex_runtime.low_watermark import LowWatermark
from aex_runtime.outbox_parked import ParkedEvents
from aex_runtime.records import OutboxEntry, outbox_table
from aex_runtime.retry import Retries
from aex_runtime.store.port import Bound, Scalar, Store, StoreUnavailable, Transaction
from aex_runtime.store.table import Stored
from aex_runtime.tracing.spans import MessageSpans
from aex_runtime.unit_of_work import QueuedEvent

_BACKOFF = Backoff(first=timedelta(milliseconds=200), cap=timedelta(seconds=5))
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class OutboxPolicy:
    """Limits and intervals of the outbox pump."""

    batch: int = 100
    """The most events that one call publishes, and rows that a page of the sweep has."""
    page_bytes: int = 4_000_000
    """The most stored bytes of a page of the sweep, unless one row alone has more."""
    max_waiting_bytes: int = 32_000_000
    """The most bytes of encoded events in memory; the sweep publishes further events."""
    max_waiting: int = 10_000
    """The most events in memory, and the most published events whose rows are still to be deleted. The sweep publishes
    further events, and may publish some again."""
    grace: timedelta = timedelta(seconds=2)
    """The age up to which an event is left to the process that committed it. The sweep takes older ones."""
    sweep_every: timedelta = timedelta(seconds=1)
    delete_after: timedelta = timedelta(milliseconds=200)
    """Rows of published events are deleted together, so long after the first. It is well below `grace`."""
    lease_ttl: timedelta = timedelta(seconds=10)
    drain: timedelta = timedelta(seconds=5)
    """The time that a stopping pump has to publish the events in memory and to delete their rows."""


class OutboxPump:
    """Publishes the events that a service has committed, each at least once."""

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
        self.parked = ParkedEvents(service, store, clock)
        self._waiting: deque[QueuedEvent] = deque()
        self._waiting_bytes = 0
        self._published: list[str] = []
        self._publishing: frozenset[str] = frozenset()
        self._low_watermark = LowWatermark()
        self._wake, self._has_published = asyncio.Event(), asyncio.Event()

    def notify_committed(self, events: Iterable[QueuedEvent]) -> None:
        """Queue events that this process has just committed; a background task publishes them soon.

        Events above the limits of memory are left to the sweep. Call it on the event loop.
        """
        for queued in events:
            self._low_watermark = self._low_watermark.note_write(queued.event.time)
            has_space = self._waiting_bytes + queued.size <= self._policy.max_waiting_bytes
            if has_space and len(self._waiting) < self._policy.max_waiting:
                self._waiting.append(queued)
                self._waiting_bytes += queued.size
        self._wake.set()

    async def run(self) -> None:
        """Publish events until cancelled; then `publish_waiting`, for at most the policy's `drain`."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._publish_promptly())
                tasks.create_task(self._delete_promptly())
                tasks.create_task(self._lease.run(self._sweep_repeatedly))
        finally:
            await self._drain()

    async def publish_overdue_from_store(self) -> int:
        """Publish and delete all events in the store that are older than `grace`, oldest first.

        Return the number of published events. Events in this process's memory are skipped. An event that the bus
        refuses is parked, and the sweep goes on. Raises `BusUnavailable`, `StoreUnavailable`.
        """
        now = self._clock.now()
        self._low_watermark = self._low_watermark.start(now)
        horizon = now - self._policy.grace
        bounds = (*self._low_watermark.bounds, Bound("<=", epoch_micros(horizon)))
        after: tuple[Scalar, str] | None = None
        remaining_at: datetime | None = None
        published, policy = 0, self._policy
        find = partial(self._table.find, self._store, order="created_at", bounds=bounds, limit=policy.batch)
        while page := await find(after=after, max_bytes=policy.page_bytes):
            done, parked = await self._sweep_page(page)
            published += len(done)
            if remaining_at is None:
                ended = done | parked
                remaining_at = next((row.record.created_at for row in page if row.document.key not in ended), None)
            self._low_watermark = self._low_watermark.advance(remaining_at or page[-1].record.created_at)
            after = page[-1].document.fields["created_at"], page[-1].document.key
        self._low_watermark = self._low_watermark.advance(remaining_at or horizon)
        return published

    async def publish_waiting(self) -> int:
        """Publish events in memory, delete their rows and return their number. Raises as the sweep does."""
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
                except (BusUnavailable, StoreUnavailable) as error:
                    await retries.count_failure_log_and_wait("events_not_published", error)

    async def _publish_batch(self) -> int:
        """Publish the oldest batch in memory; return how many the bus accepted. After an error keep all."""
        batch = [self._waiting.popleft() for _ in range(min(self._policy.batch, len(self._waiting)))]
        size = sum(each.size for each in batch)
        self._waiting_bytes -= size
        self._publishing = frozenset(each.event.id for each in batch)
        try:
            done, _ = await self._publish([each.event for each in batch])
        except BaseException:
            self._waiting.extendleft(reversed(batch))
            self._waiting_bytes += size
            raise
        finally:
            self._publishing = frozenset()
        self._published.extend(done[: max(self._policy.max_waiting - len(self._published), 0)])
        self._has_published.set()
        return len(done)

    async def _publish(self, events: Sequence[Event]) -> tuple[list[str], list[str]]:
        """Publish events; return the ids that the bus accepted, and the ids that it refused.

        Refused events are parked. Raises `BusUnavailable`, `StoreUnavailable`.
        """
        if not events:
            return [], []
        try:
            with self._spans.publication_spans(events) as sent:
                await self._bus.publish([Outgoing(event.type, encode_event(event)) for event in sent])
        except BusUnavailable:
            raise
        except (BusError, ValueError) as error:
            refusal = describe_failure(error)  # kept longer, the error would hold the encoded events in memory
        else:
            return [event.id for event in events], []
        if len(events) > 1:  # one of them is invalid: publish each alone
            results = [await self._publish([event]) for event in events]
            return [each for done, _ in results for each in done], [each for _, no in results for each in no]
        await self.parked.park(events[0].id, refusal)
        return [], [events[0].id]

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
                await retries.count_failure_log_and_wait("outbox_rows_not_deleted", error)

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
        """Sweep until cancelled. If the lease was lost unnoticed, an event may be published twice."""
        self._low_watermark = LowWatermark()
        retries = Retries(_BACKOFF, self._ids)
        while True:
            try:
                await self.publish_overdue_from_store()
                retries.reset()
            except (BusUnavailable, StoreUnavailable) as error:
                await retries.count_failure_log_and_wait("outbox_not_swept", error)
            await asyncio.sleep(self._policy.sweep_every.total_seconds())

    async def _sweep_page(self, page: Sequence[Stored[OutboxEntry]]) -> tuple[frozenset[str], frozenset[str]]:
        """Publish and delete a page, except events in memory; return the ids of deleted and of parked rows."""
        in_memory = {each.event.id for each in self._waiting} | self._publishing | set(self._published)
        done, parked = await self._publish([row.record.event for row in page if row.record.event.id not in in_memory])
        await self._delete(done)
        if done:
            _log.info("outbox_swept", published=len(done))
        return frozenset(done), frozenset(parked)

    async def _drain(self) -> None:
        """Publish the waiting events for at most `drain`; a later sweep publishes what is left."""
        try:
            async with asyncio.timeout(self._policy.drain.total_seconds()):
                await self.publish_waiting()
        except (BusUnavailable, StoreUnavailable, TimeoutError) as error:
            _log.warning("outbox_not_drained", waiting=len(self._waiting), reason=describe_failure(error))
