"""What a service does behind its requests: publish, consume, fire timers, tidy up. Kept running, stopped in order."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial

import structlog

from aex_models.backoff import Backoff
from aex_runtime.bus.consumer import Consumer
from aex_runtime.bus.port import Bus
from aex_runtime.bus.queue_age import tells_queue_age
from aex_runtime.clock import Clock
from aex_runtime.deadletters import DeadLetters
from aex_runtime.failures import describe_failure
from aex_runtime.handlers import EventHandler, TimerHandler
from aex_runtime.http.idempotency_purge import IdempotencyPurge
from aex_runtime.http.metrics import GaugeSpec
from aex_runtime.ids import Ids
from aex_runtime.leases import Leases
from aex_runtime.measures import UNMEASURED, CounterSpec, Measures
from aex_runtime.outbox import OutboxPump
from aex_runtime.outbox_entry import outbox_table
from aex_runtime.redaction import describe
from aex_runtime.store.port import Store
from aex_runtime.timer_entry import timers_table
from aex_runtime.timers import TimerSweeper
from aex_runtime.tracing.messages import MessageSpans
from aex_runtime.unit_of_work import Committed

RESTARTS = CounterSpec("aex_background_restarts_total", "Crashes of background work")
MOST_COUNTED = 1_000
"""Dead letters that a scrape counts: it reads what it counts."""
_RESTART = Backoff(first=timedelta(milliseconds=500), cap=timedelta(seconds=30))
_STOP_DEADLINE_S = 6.0
"""A little more than consumer and pump take to drain."""
Piece = Callable[[], Awaitable[None]]
"""Runs until it is cancelled; where it crashes or ends it is started again."""
_log = structlog.get_logger(__name__)


class Background:
    """The pieces that run beside the requests of one service."""

    def __init__(
        self,
        service: str,
        store: Store,
        bus: Bus,
        clock: Clock,
        ids: Ids,
        instance: str | None = None,
        measures: Measures = UNMEASURED,
        spans: MessageSpans | None = None,
    ) -> None:
        """`instance` names this process where no other of the service runs beside it: see `RuntimeSettings`."""
        self._service, self._store, self._bus, self._clock, self._ids = service, store, bus, clock, ids
        self.leases = Leases(service, store, clock, holder=instance or ids.new("proc"))
        self.dead_letters = DeadLetters(service, store, clock)
        self._spans = spans or MessageSpans(service)
        self.outbox = OutboxPump(service, store, bus, clock, ids, self.leases, spans=self._spans)
        self._sweeper: TimerSweeper | None = None
        self._consumer: Consumer | None = None
        self._measures = measures

    def committed(self, committed: Committed) -> None:
        """Publish a unit's events and look at its timers promptly. Called on the event loop, after the commit."""
        self.outbox.notify(committed.events)
        if self._sweeper is not None:
            self._sweeper.notify(committed.timers)

    @asynccontextmanager
    async def running(
        self,
        subscriptions: Mapping[str, EventHandler],
        timers: Mapping[str, TimerHandler],
        pieces: Mapping[str, Piece] | None = None,
    ) -> AsyncIterator[None]:
        """Everything, from here to the end of the block; then what makes work stops before what publishes it.

        `pieces` are the service's own, by name.
        """
        self._sweeper = TimerSweeper(
            self._service, self._store, self.leases, self._clock, timers, self._ids, spans=self._spans
        )
        consumer = self._consumer = Consumer(
            self._service,
            self._bus,
            self.dead_letters,
            self._clock,
            self._ids,
            subscriptions,
            spans=self._spans,
            measures=self._measures,
        )
        purge = IdempotencyPurge(self._service, self._store, self._clock, self._ids, self.leases)
        all_pieces: dict[str, Piece] = {**(pieces or {}), "idempotency-purge": purge.run}
        if subscriptions:
            all_pieces["consumer"] = consumer.run
        if timers:
            all_pieces["timers"] = self._sweeper.run
        all_pieces["outbox"] = self.outbox.run  # last: it publishes what the others committed while they stopped
        tasks = {
            each: asyncio.create_task(self._keep_running(each, run), name=each) for each, run in all_pieces.items()
        }
        try:
            yield
        finally:
            pump = tasks.pop("outbox")
            await _stop(list(tasks.values()))
            await _stop([pump])

    def gauges(self) -> Sequence[GaugeSpec]:
        """Dead letters, how long events have failed, and how long events and timers have waited."""
        bus, queue = self._bus, list[GaugeSpec]()
        if tells_queue_age(bus):
            oldest = partial(bus.oldest_unhandled_s, self._service)
            queue.append(GaugeSpec("aex_queue_oldest_seconds", "Age of the oldest event not yet handled", oldest))
        return (
            *queue,
            GaugeSpec("aex_dead_letters", "Messages given up on and not yet replayed, 1000 at most", self._dead),
            GaugeSpec("aex_events_failing_seconds", "For how long events have only failed here", self._failing_s),
            GaugeSpec("aex_outbox_oldest_seconds", "Age of the oldest event not yet published", self._unpublished_s),
            GaugeSpec("aex_timers_overdue_seconds", "How late the timer is that should have fired first", self._late_s),
        )

    async def _keep_running(self, name: str, run: Piece) -> None:
        """Run a piece until cancelled; one that crashes is started again, slower each time."""
        crashes = 0
        while True:
            try:
                await run()
            except Exception as error:  # noqa: BLE001 whatever it is, a service that stops publishing helps nobody
                reason = describe_failure(error)
                _log.error("background_crashed", piece=name, traceback=describe(error))
            else:
                reason = "it ended"
            crashes += 1
            self._measures.count(RESTARTS)
            delay = _RESTART.delay(crashes, self._ids.jitter())
            _log.warning("background_restarts", piece=name, reason=reason, retry_in_s=delay.total_seconds())
            await asyncio.sleep(delay.total_seconds())

    async def _dead(self) -> float:
        return await self.dead_letters.count(MOST_COUNTED)

    async def _failing_s(self) -> float:
        return self._consumer.failing_s() if self._consumer is not None else 0.0

    async def _unpublished_s(self) -> float:
        found = await outbox_table(self._service).find(self._store, order="created_at", limit=1)
        return max(0.0, (self._clock.now() - found[0].record.created_at).total_seconds()) if found else 0.0

    async def _late_s(self) -> float:
        found = await timers_table(self._service).find(self._store, order="due_at", limit=1)
        return max(0.0, (self._clock.now() - found[0].record.due_at).total_seconds()) if found else 0.0


async def _stop(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel and wait, within bounds: what hangs is left to the end of the process."""
    for task in tasks:
        task.cancel()
    if tasks:
        _, hanging = await asyncio.wait(tasks, timeout=_STOP_DEADLINE_S)
        for task in hanging:
            _log.error("background_hangs", piece=task.get_name())
