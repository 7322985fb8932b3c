"""The outbox pump: what was committed gets published, promptly after the commit, or else by the sweep."""

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
from aex_runtime.failures import describe_failure
from aex_runtime.ids import Ids
from aex_runtime.lease_holder import LeaseHolder
from aex_runtime.leases import Lease, Leases
from aex_runtime.log_context import log_context
from aex_runtime.outbox_entry import OutboxEntry, outbox_table
from aex_runtime.seen_clean import SeenClean
from aex_runtime.store.port import Bound, Scalar, Store, StoreUnavailable, Transaction
from aex_runtime.store.table import Stored
from aex_runtime.tracing.messages import MessageSpans

_BACKOFF = Backoff(first=timedelta(milliseconds=200), cap=timedelta(seconds=5))
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class OutboxPolicy:
    """How much at once, and how soon."""

    batch: int = 100
    max_waiting: int = 10_000
    """Events held in memory for prompt publishing, and ids of published ones whose rows are still to be deleted; more
    than that is left to the sweep, which may publish it again."""
    grace: timedelta = timedelta(seconds=2)
    """What is younger than this is left to the process that committed it."""
    sweep_every: timedelta = timedelta(seconds=1)
    forget_after: timedelta = timedelta(milliseconds=200)
    """Rows of published events are deleted together, this long after the first of them; well below `grace`."""
    lease_ttl: timedelta = timedelta(seconds=10)
    drain: timedelta = timedelta(seconds=5)
    """What a stopping pump takes to publish and to delete what it knows of."""


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
        self._lease = LeaseHolder(leases, clock, ids, "outbox", self._policy.lease_ttl)
        self._waiting: deque[Event] = deque()
        self._published: list[str] = []
        self._underway: frozenset[str] = frozenset()
        self._clean = SeenClean()
        self._wake = asyncio.Event()
        self._to_forget = asyncio.Event()

    def notify(self, events: Iterable[Event]) -> None:
        """Tell of events just committed: they are published at once. Called on the event loop."""
        committed = list(events)
        for event in committed:
            self._clean = self._clean.told_of(event.time)
        room = max(self._policy.max_waiting - len(self._waiting), 0)  # a batch that failed came back on top
        self._waiting.extend(committed[:room])
        self._wake.set()

    async def run(self) -> None:
        """Publish until cancelled; then publish and delete what is known, as long as `drain`."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._publish_promptly())
                tasks.create_task(self._forget_in_time())
                tasks.create_task(self._lease.run(self._sweep_on))
        finally:
            await self._drain()

    async def sweep(self) -> int:
        """Publish, oldest first, what was committed before the grace and is still there; how much it was.

        Begins where the last one left something. Raises `BusUnavailable`, `StoreUnavailable`. What the bus refuses
        stays, is logged, and holds up nothing.
        """
        now = self._clock.now()
        self._clean = self._clean.begun(now)
        horizon = now - self._policy.grace
        bounds = (*self._clean.bounds, Bound("<=", epoch_micros(horizon)))
        after: tuple[Scalar, str] | None = None
        left: datetime | None = None
        published = 0
        while True:
            page = await self._page(bounds, after)
            done = await self._sweep_page(page)
            published += len(done)
            left = left or next((row.record.created_at for row in page if row.document.key not in done), None)
            is_last = len(page) < self._policy.batch
            self._clean = self._clean.reached(left or (horizon if is_last else page[-1].record.created_at))
            if is_last:
                return published
            after = page[-1].document.fields["created_at"], page[-1].document.key

    async def flush(self) -> int:
        """Publish what `notify` told of and delete its rows; how much it was. Raises as `sweep` does."""
        published = 0
        while self._waiting:
            published += await self._publish_batch()
        await self._forget()
        return published

    async def _publish_promptly(self) -> None:
        failures = 0
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                try:
                    await self._publish_batch()
                    failures = 0
                except BusUnavailable as error:
                    failures += 1
                    await self._back_off("events_not_published", failures, error)

    async def _publish_batch(self) -> int:
        """The oldest batch of what waits. Where the bus is down it goes on waiting."""
        events = [self._waiting.popleft() for _ in range(min(self._policy.batch, len(self._waiting)))]
        self._underway = frozenset(event.id for event in events)
        try:
            done = await self._publish(events)
        except BaseException:
            self._waiting.extendleft(reversed(events))
            raise
        finally:
            self._underway = frozenset()
        self._published.extend(done[: max(self._policy.max_waiting - len(self._published), 0)])
        self._to_forget.set()
        return len(done)

    async def _publish(self, events: Sequence[Event]) -> list[str]:
        """The ids of what was published. Raises `BusUnavailable`."""
        if not events:
            return []
        try:
            with self._spans.publishing(events) as sent:
                await self._bus.publish([_outgoing(event) for event in sent])
        except BusUnavailable:
            raise
        except (BusError, ValueError) as error:
            if len(events) > 1:  # one of them is at fault: find it, so that the others go
                return [found for event in events for found in await self._publish([event])]
            told = {"event_id": events[0].id, "event_type": events[0].type, **log_context(events[0].subject)}
            _log.error("event_refused", reason=describe_failure(error), **told)
            return []
        return [event.id for event in events]

    async def _forget_in_time(self) -> None:
        failures = 0
        while True:
            await self._to_forget.wait()
            self._to_forget.clear()
            await asyncio.sleep(self._policy.forget_after.total_seconds())
            try:
                await self._forget()
                failures = 0
            except StoreUnavailable as error:
                self._to_forget.set()
                failures += 1
                await self._back_off("outbox_rows_not_deleted", failures, error)

    async def _forget(self) -> None:
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

    async def _sweep_on(self, _: Lease) -> None:
        """Sweep under the lease. A sweeper that lost it and goes on publishes something twice, no worse."""
        self._clean = SeenClean()
        failures = 0
        while True:
            try:
                await self.sweep()
                failures = 0
            except (BusUnavailable, StoreUnavailable) as error:
                failures += 1
                await self._back_off("outbox_not_swept", failures, error)
            await asyncio.sleep(self._policy.sweep_every.total_seconds())

    async def _sweep_page(self, page: Sequence[Stored[OutboxEntry]]) -> frozenset[str]:
        """Publish and delete; the ids of what is gone. What this process is about to publish is left to it."""
        held = {event.id for event in self._waiting} | self._underway | set(self._published)
        done = await self._publish([row.record.event for row in page if row.record.event.id not in held])
        await self._delete(done)
        if done:
            _log.info("outbox_swept", published=len(done))
        return frozenset(done)

    async def _page(self, bounds: Sequence[Bound], after: tuple[Scalar, str] | None) -> list[Stored[OutboxEntry]]:
        return await self._table.find(
            self._store, order="created_at", bounds=bounds, after=after, limit=self._policy.batch
        )

    async def _back_off(self, what: str, failures: int, error: Exception) -> None:
        delay = _BACKOFF.delay(failures, self._ids.jitter())
        _log.warning(what, reason=describe_failure(error), retry_in_s=delay.total_seconds())
        await asyncio.sleep(delay.total_seconds())

    async def _drain(self) -> None:
        """What does not get out in time is in the store: the next sweep finds it."""
        try:
            async with asyncio.timeout(self._policy.drain.total_seconds()):
                await self.flush()
        except (BusUnavailable, StoreUnavailable, TimeoutError) as error:
            _log.warning("outbox_not_drained", waiting=len(self._waiting), reason=describe_failure(error))


def _outgoing(event: Event) -> Outgoing:
    return Outgoing(event.type, encode(event))
