"""The timer sweeper, which fires due timers at least once and then deletes or reschedules them."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

import structlog
from structlog.contextvars import bound_contextvars

from aex_models.backoff import Backoff
from aex_runtime.clock import Clock, epoch_micros
from aex_runtime.ids import Ids
from aex_runtime.leases import LeaderElection, Lease, Leases
from aex_runtime.logs import describe_failure, exception_chain, log_context
from aex_runtime.low_watermark import LowWatermark
from aex_runtime.records import Poison, RetryLater, Timer, TimerHandler, timers_table
from aex_runtime.retry import Retries
from aex_runtime.store.port import Bound, Store, StoreError, StoreUnavailable, Transaction
from aex_runtime.store.table import Stored
from aex_runtime.telemetry import mark_span_failed
from aex_runtime.tracing.spans import MessageSpans
from aex_runtime.yielding import wait_for_event

_BACKOFF = Backoff(first=timedelta(seconds=1), cap=timedelta(minutes=5))
_OUTAGE = Backoff(first=timedelta(milliseconds=200), cap=timedelta(seconds=5))
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class TimerPolicy:
    """Limits and intervals of the timer sweeper."""

    concurrency: int = 8
    poll: timedelta = timedelta(seconds=1)
    """The longest wait between queries, which bounds the delay of timers that other processes set."""
    lease_ttl: timedelta = timedelta(seconds=10)
    backoff: Backoff = _BACKOFF
    """Waits after failures of a handler; a timer is retried without limit."""


class TimerSweeper:
    """Runs the handlers of a service's timers when they are due."""

    def __init__(
        self,
        service: str,
        store: Store,
        leases: Leases,
        clock: Clock,
        handlers: Mapping[str, TimerHandler],
        ids: Ids,
        policy: TimerPolicy | None = None,
        spans: MessageSpans | None = None,
    ) -> None:
        self._table = timers_table(service)
        self._store = store
        self._clock = clock
        self._handlers = dict(handlers)
        self._ids = ids
        self._policy = policy or TimerPolicy()
        self._spans = spans or MessageSpans(service)
        self._lease = LeaderElection(leases, clock, ids, "timers", self._policy.lease_ttl)
        self._firing: dict[str, asyncio.Task[None]] = {}
        self._low_watermark = LowWatermark()
        self._wake = asyncio.Event()
        self._commit_retries = Retries(_OUTAGE, ids)

    def notify_committed(self, timers: Iterable[Timer]) -> None:
        """Wake the sweeper for timers that this process has just committed. Call it on the event loop."""
        for timer in timers:
            self._low_watermark = self._low_watermark.note_write(timer.due_at)
            self._wake.set()

    async def run(self) -> None:
        """Fire timers until cancelled, while this process has the lease; then cancel running handlers."""
        await self._lease.run(self._fire_repeatedly)

    async def fire_due(self, now: datetime) -> int:
        """Fire the timers due at `now`, oldest first and one by one; return their number.

        At most `concurrency` timers are fired. Raises `StoreUnavailable`.
        """
        due = await self._read_first(self._policy.concurrency, now)
        for stored in due:
            await self._fire(stored)
        return len(due)

    async def next_due_at(self) -> datetime | None:
        """Return when the next timer is due that is not being fired; None if there is none.

        Raises `StoreUnavailable`.
        """
        return next((stored.record.due_at for stored in await self._read_first(1, None)), None)

    async def _fire_repeatedly(self, _: Lease) -> None:
        """Fire timers until cancelled. If the lease was lost unnoticed, a timer may be fired twice."""
        self._low_watermark = LowWatermark()
        retries = Retries(_OUTAGE, self._ids)
        try:
            while True:
                self._wake.clear()  # before the query, so that no timer during it is missed
                try:
                    wait_s = await self._start_due()
                    retries.reset()
                except StoreUnavailable as error:
                    wait_s = retries.count_failure_and_get_delay_s()
                    _log.warning("timers_not_read", reason=describe_failure(error), retry_in_s=wait_s)
                await wait_for_event(self._wake, wait_s)
        finally:
            tasks = list(self._firing.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _start_due(self) -> float:
        """Start handlers for due timers, up to `concurrency`; return the seconds until the next query."""
        free_slots = self._policy.concurrency - len(self._firing)
        poll_s = self._policy.poll.total_seconds()
        if free_slots <= 0:
            return poll_s
        now = self._clock.now()
        soon = await self._read_first(free_slots + 1, now + self._policy.poll)
        due = [stored for stored in soon[:free_slots] if stored.record.due_at <= now]
        for stored in due:
            key = stored.document.key
            task = asyncio.create_task(self._fire_and_wait(stored))
            self._firing[key] = task
            task.add_done_callback(partial(self._free_slot, key))
        if len(soon) == len(due):
            return poll_s
        return min(poll_s, max((soon[len(due)].record.due_at - self._clock.now()).total_seconds(), 0))

    def _free_slot(self, key: str, _: asyncio.Task[None]) -> None:
        del self._firing[key]
        self._wake.set()

    async def _read_first(self, limit: int, due_by: datetime | None) -> list[Stored[Timer]]:
        """Return the first timers, up to `limit`, that are due by a time and are not being fired.

        Both bounds of the query matter. Outside of them the index has entries of deleted timers, which Firestore would
        read.
        """
        firing = frozenset(self._firing)
        now = self._clock.now()
        self._low_watermark = self._low_watermark.start(now)
        upper = () if due_by is None else (Bound("<=", epoch_micros(due_by)),)
        bounds = (*self._low_watermark.bounds, *upper)
        found = await self._table.find(self._store, order="due_at", bounds=bounds, limit=limit + len(firing))
        self._low_watermark = self._low_watermark.advance(found[0].record.due_at if found else due_by or now)
        return [stored for stored in found if stored.document.key not in firing][:limit]

    async def _fire_and_wait(self, stored: Stored[Timer]) -> None:
        """Fire a timer; if its result is not saved, wait, because the timer is still due."""
        if await self._fire(stored):
            self._commit_retries.reset()
        else:
            await asyncio.sleep(self._commit_retries.count_failure_and_get_delay_s())

    async def _fire(self, stored: Stored[Timer]) -> bool:
        """Run the handler of a timer and save the result; return False if it could not be saved."""
        timer = stored.record
        context = log_context(timer.subject, timer.payload)
        with (
            bound_contextvars(timer_kind=timer.kind, timer_subject=timer.subject, **context),
            self._spans.timer_span(timer),
        ):
            rescheduled = await self._handle(timer)
            try:
                await self._commit_result(stored, rescheduled)
            except StoreError as error:
                _log.warning("timer_result_save_failed", reason=describe_failure(error))
                return False
        return True

    async def _handle(self, timer: Timer) -> Timer | None:
        """Run the handler; return None if it succeeded, else the timer with the time of its retry."""
        failures = timer.failures + 1
        delay = self._policy.backoff.delay(failures, self._ids.jitter())
        try:
            await self._handlers.get(timer.kind, _handle_unknown)(timer)
        except RetryLater as later:
            reason, delay = later.reason, later.delay
        except Poison as poison:
            reason, delay = poison.reason, self._policy.backoff.cap
        except Exception as error:  # noqa: BLE001 one timer must not stop the others
            reason = describe_failure(error)
            _log.warning("timer_failed", failures=failures, failure=exception_chain(error))
        else:
            return None
        mark_span_failed("retried")
        _log.warning("timer_retried", reason=reason, failures=failures, retry_in_s=delay.total_seconds())
        return timer.model_copy(update={"due_at": self._clock.now() + delay, "failures": failures})

    async def _commit_result(self, fired: Stored[Timer], rescheduled: Timer | None) -> None:
        """Delete the timer, or replace it by `rescheduled`.

        A timer that was set again or cancelled while it fired is left as it is.
        """

        async def write(transaction: Transaction) -> None:
            document = await transaction.get(self._table.collection, fired.document.key)
            if document is None or document.version != fired.document.version:
                return
            if rescheduled is None:
                transaction.delete(self._table.collection, document.key)
            else:
                transaction.update(self._table.collection, document, *self._table.encode(rescheduled))

        await self._store.transact(write)


async def _handle_unknown(timer: Timer) -> None:
    raise Poison(f"this version has no handler for timers of kind {timer.kind}")  # another version may have one
