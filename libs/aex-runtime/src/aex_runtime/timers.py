"""The timer sweeper: fires what is due, at least once, and forgets it only if nobody has set it anew since."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

import structlog
from structlog.contextvars import bound_contextvars

from aex_models.backoff import Backoff
from aex_runtime.clock import Clock, epoch_micros
from aex_runtime.failures import describe_failure
from aex_runtime.handlers import Poison, RetryLater, TimerHandler
from aex_runtime.ids import Ids
from aex_runtime.lease_holder import LeaseHolder
from aex_runtime.leases import Lease, Leases
from aex_runtime.log_context import log_context
from aex_runtime.redaction import describe as describe_exception
from aex_runtime.seen_clean import SeenClean
from aex_runtime.store.port import Bound, Store, StoreError, StoreUnavailable, Transaction
from aex_runtime.store.table import Stored
from aex_runtime.telemetry import failed
from aex_runtime.timer_entry import Timer, timers_table
from aex_runtime.tracing.messages import MessageSpans

_BACKOFF = Backoff(first=timedelta(seconds=1), cap=timedelta(minutes=5))
_OUTAGE = Backoff(first=timedelta(milliseconds=200), cap=timedelta(seconds=5))
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class TimerPolicy:
    """How many at once, and how soon."""

    concurrency: int = 8
    poll: timedelta = timedelta(seconds=1)
    """The longest sleep: timers that other processes set are found after no longer than this."""
    lease_ttl: timedelta = timedelta(seconds=10)
    backoff: Backoff = _BACKOFF
    """After a handler that failed; the timer stays for as long as it takes."""


class TimerSweeper:
    """Runs a service's timer handlers."""

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
        self._lease = LeaseHolder(leases, clock, ids, "timers", self._policy.lease_ttl)
        self._firing: dict[str, asyncio.Task[None]] = {}
        self._clean = SeenClean()
        self._wake = asyncio.Event()
        self._unsettled = 0

    def notify(self, timers: Iterable[Timer]) -> None:
        """Tell of timers just committed. Called on the event loop."""
        for timer in timers:
            self._clean = self._clean.told_of(timer.due_at)
            self._wake.set()

    async def run(self) -> None:
        """Fire timers until cancelled, in the one process that holds the lease. Handlers under way are cancelled."""
        await self._lease.run(self._fire_on)

    async def fire_due(self, now: datetime) -> int:
        """Fire what is due at `now`, one after the other, oldest first; how many. Raises `StoreUnavailable`."""
        due = await self._first(self._policy.concurrency, now)
        for stored in due:
            await self._fire(stored)
        return len(due)

    async def next_due(self) -> datetime | None:
        """When the next timer that is not being fired is due. Raises `StoreUnavailable`."""
        return next((stored.record.due_at for stored in await self._first(1, None)), None)

    async def _fire_on(self, _: Lease) -> None:
        """Fire under the lease. A sweeper that lost it and goes on fires something twice, no worse."""
        self._clean = SeenClean()
        outages = 0
        try:
            while True:
                self._wake.clear()  # before the look, so that what comes during it is not missed
                try:
                    wait_s = await self._start_due()
                    outages = 0
                except StoreUnavailable as error:
                    outages += 1
                    wait_s = _OUTAGE.delay(outages, self._ids.jitter()).total_seconds()
                    _log.warning("timers_not_read", reason=describe_failure(error), retry_in_s=wait_s)
                await self._sleep(wait_s)
        finally:
            tasks = list(self._firing.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _start_due(self) -> float:
        """Start handlers for what is due, as far as there is room; the seconds until it is worth another look."""
        room = self._policy.concurrency - len(self._firing)
        poll_s = self._policy.poll.total_seconds()
        if room <= 0:
            return poll_s
        now = self._clock.now()
        soon = await self._first(room + 1, now + self._policy.poll)
        due = [stored for stored in soon[:room] if stored.record.due_at <= now]
        for stored in due:
            key = stored.document.key
            task = asyncio.create_task(self._fire_and_rest(stored))
            self._firing[key] = task
            task.add_done_callback(partial(self._fired, key))
        if len(soon) == len(due):
            return poll_s
        return min(poll_s, max((soon[len(due)].record.due_at - self._clock.now()).total_seconds(), 0))

    def _fired(self, key: str, _: asyncio.Task[None]) -> None:
        del self._firing[key]
        self._wake.set()

    async def _sleep(self, wait_s: float) -> None:
        try:
            async with asyncio.timeout(wait_s):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _first(self, limit: int, by: datetime | None) -> list[Stored[Timer]]:
        """The first timers, those due `by` then, but for those under way, even if they end while we look.

        No look goes further than it must: ahead of it, as behind it, lies what was deleted, timers cancelled in time.
        """
        under_way = frozenset(self._firing)
        now = self._clock.now()
        self._clean = self._clean.begun(now)
        until = () if by is None else (Bound("<=", epoch_micros(by)),)
        found = await self._table.find(
            self._store,
            order="due_at",
            bounds=(*self._clean.bounds, *until),
            limit=limit + len(under_way),
        )
        self._clean = self._clean.reached(found[0].record.due_at if found else by or now)
        return [stored for stored in found if stored.document.key not in under_way][:limit]

    async def _fire_and_rest(self, stored: Stored[Timer]) -> None:
        """Fire it; where that could not be written down it is still due, and must not fire again at once."""
        if await self._fire(stored):
            self._unsettled = 0
            return
        self._unsettled += 1
        await asyncio.sleep(_OUTAGE.delay(self._unsettled, self._ids.jitter()).total_seconds())

    async def _fire(self, stored: Stored[Timer]) -> bool:
        """Whether what came of it is written down."""
        timer = stored.record
        named = log_context(timer.subject, timer.payload)
        with (
            bound_contextvars(timer_kind=timer.kind, timer_subject=timer.subject, **named),
            self._spans.firing(timer),
        ):
            moved = await self._handle(timer)
            try:
                await self._settle(stored, moved)
            except StoreError as error:
                _log.warning("timer_not_settled", reason=describe_failure(error))
                return False
        return True

    async def _handle(self, timer: Timer) -> Timer | None:
        """Run the handler; None where the timer is done, else when and as what it is to come again."""
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
            _log.warning("timer_failed", failures=failures, failure=describe_exception(error))
        else:
            return None
        failed("retried")
        _log.warning("timer_retried", reason=reason, failures=failures, retry_in_s=delay.total_seconds())
        return timer.model_copy(update={"due_at": self._clock.now() + delay, "failures": failures})

    async def _settle(self, seen: Stored[Timer], moved: Timer | None) -> None:
        """Delete the timer, or move it; leave it alone where it was set anew or cancelled while it fired."""

        async def write(transaction: Transaction) -> None:
            document = await transaction.get(self._table.collection, seen.document.key)
            if document is None or document.version != seen.document.version:
                return
            if moved is None:
                transaction.delete(self._table.collection, document.key)
            else:
                transaction.update(self._table.collection, document, *self._table.encode(moved))

        await self._store.transact(write)


async def _handle_unknown(timer: Timer) -> None:
    """A kind that only another version of the service knows: it waits for that version."""
    raise Poison(f"nobody here handles timers of kind {timer.kind}")
