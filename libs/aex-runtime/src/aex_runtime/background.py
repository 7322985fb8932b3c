"""The background tasks of a service: consumer, timers, outbox and purge, with restarts."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Any

import structlog

from aex_models.backoff import Backoff
from aex_runtime.bus.consumer import Consumer
from aex_runtime.bus.dataref import EventData
from aex_runtime.bus.port import Bus, ReportsQueueAge
from aex_runtime.clock import Clock
from aex_runtime.deadletters import DeadLetters, dead_letter_messages_table, dead_letters_table
from aex_runtime.http.idempotency import IdempotencyPurge, idempotency_table
from aex_runtime.http.metrics import GaugeSpec
from aex_runtime.ids import Ids
from aex_runtime.leases import Leases, leases_table
from aex_runtime.logs import describe_failure, exception_chain
from aex_runtime.measures import UNMEASURED, CounterSpec, Measures
from aex_runtime.outbox import OutboxPump
from aex_runtime.outbox_parked import parked_table
from aex_runtime.records import EventHandler, TimerHandler, outbox_table, timers_table
from aex_runtime.retry import Retries
from aex_runtime.store.port import Collection, Store
from aex_runtime.store.table import Table
from aex_runtime.timers import TimerSweeper
from aex_runtime.tracing.spans import MessageSpans
from aex_runtime.unit_of_work import Committed

RESTARTS = CounterSpec("aex_background_restarts_total", "Crashes of background work")
MAX_COUNTED = 1_000
"""The most dead letters and parked events that a scrape counts. It reads them."""
_RESTART = Backoff(first=timedelta(milliseconds=500), cap=timedelta(seconds=30))
_STOP_DEADLINE_S = 6.0
"""A little more than consumer and pump need to drain."""
BackgroundTask = Callable[[], Awaitable[None]]
"""Function that runs until cancelled. It is started again after an error or an end."""
_log = structlog.get_logger(__name__)


def platform_collections(service: str) -> tuple[Collection, ...]:
    """Return the collections that every service has, besides its own.

    These hold outbox, timers, leases, idempotency keys, dead letters and parked events.
    """
    return (
        outbox_table(service).collection,
        timers_table(service).collection,
        leases_table(service).collection,
        idempotency_table(service).collection,
        dead_letters_table(service).collection,
        dead_letter_messages_table(service).collection,
        parked_table(service).collection,
    )


class Background:
    """Builds and runs the background tasks of a service."""

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
        event_data: EventData | None = None,
    ) -> None:
        """`instance` is the name of the service's only process, if set: see `RuntimeSettings`."""
        self._service, self._store, self._bus, self._clock, self._ids = service, store, bus, clock, ids
        self.leases = Leases(service, store, clock, holder=instance or ids.new("proc"))
        self.dead_letters = DeadLetters(service, store, clock)
        self._spans = spans or MessageSpans(service)
        self.outbox = OutboxPump(service, store, bus, clock, ids, self.leases, spans=self._spans)
        self._sweeper: TimerSweeper | None = None
        self._consumer: Consumer | None = None
        self._measures = measures
        self._event_data = event_data

    def on_commit(self, committed: Committed) -> None:
        """Have a unit's events published and its timers checked soon. Called after its commit.

        Call it on the event loop.
        """
        self.outbox.notify_committed(committed.queued)
        if self._sweeper is not None:
            self._sweeper.notify_committed(committed.timers)

    @asynccontextmanager
    async def run_tasks(
        self,
        subscriptions: Mapping[str, EventHandler],
        timers: Mapping[str, TimerHandler],
        tasks: Mapping[str, BackgroundTask] | None = None,
    ) -> AsyncIterator[None]:
        """Start all background tasks, run the block, and stop them at its end.

        These are the consumer, timers, outbox pump, purge of keys, and `tasks`, the service's own by name. A task that
        ends or fails is started again. The outbox is stopped last, to publish what the others committed. Handlers are
        given by topic (`subscriptions`) and by timer kind (`timers`).
        """
        service, store, clock, ids, spans = self._service, self._store, self._clock, self._ids, self._spans
        sweeper = self._sweeper = TimerSweeper(service, store, self.leases, clock, timers, ids, spans=spans)
        consumer = self._consumer = Consumer(
            service,
            self._bus,
            self.dead_letters,
            clock,
            ids,
            subscriptions,
            spans=spans,
            measures=self._measures,
            event_data=self._event_data,
        )
        purge = IdempotencyPurge(service, store, clock, ids, self.leases)
        all_tasks: dict[str, BackgroundTask] = {**(tasks or {}), "idempotency-purge": purge.run}
        if subscriptions:
            all_tasks["consumer"] = consumer.run
        if timers:
            all_tasks["timers"] = sweeper.run
        all_tasks["outbox"] = self.outbox.run  # last: it publishes what the others committed while they stopped
        running = [asyncio.create_task(self._keep_running(*each), name=each[0]) for each in all_tasks.items()]
        try:
            yield
        finally:
            *others, pump = running
            await _stop(others)
            await _stop([pump])

    def gauges(self) -> Sequence[GaugeSpec]:
        """Return the gauges of dead letters, parked and failing events, and ages of events and timers."""
        dead_letters = partial(self.dead_letters.count, MAX_COUNTED)
        parked = partial(self.outbox.parked.count, MAX_COUNTED)
        unpublished_s = partial(self._age_s, outbox_table(self._service), "created_at")
        late_s = partial(self._age_s, timers_table(self._service), "due_at")
        queue: tuple[GaugeSpec, ...] = ()
        if isinstance(self._bus, ReportsQueueAge):
            oldest = partial(self._bus.oldest_unacked_age_s, self._service)
            queue = (GaugeSpec("aex_queue_oldest_seconds", "Age of the oldest event not yet handled", oldest),)
        return (
            *queue,
            GaugeSpec(
                "aex_dead_letters",
                "Dead letters that were not replayed yet, 1000 at most",
                dead_letters,
            ),
            GaugeSpec(
                "aex_events_failing_seconds",
                "Time for which every event that this process handled has failed",
                self._failing_s,
            ),
            GaugeSpec("aex_outbox_parked", "Events that the bus refused, 1000 at most", parked),
            GaugeSpec("aex_outbox_oldest_seconds", "Age of the oldest event not yet published", unpublished_s),
            GaugeSpec("aex_timers_overdue_seconds", "Delay of the timer that is due first", late_s),
        )

    async def _keep_running(self, name: str, run: BackgroundTask) -> None:
        """Run a task until cancelled; start it again when it fails or ends, after a growing wait."""
        retries = Retries(_RESTART, self._ids)
        while True:
            try:
                await run()
            except Exception as error:  # noqa: BLE001 whatever it is, the service must publish and consume on
                reason = describe_failure(error)
                _log.error("background_crashed", piece=name, traceback=exception_chain(error))
            else:
                reason = "it ended"
            self._measures.count(RESTARTS)
            await retries.count_failure_log_and_wait("background_restarts", reason, piece=name)

    async def _failing_s(self) -> float:
        return self._consumer.failing_for_s() if self._consumer is not None else 0.0

    async def _age_s(self, table: Table[Any], field: str) -> float:
        found = await table.find(self._store, order=field, limit=1)
        return max(0.0, (self._clock.now() - getattr(found[0].record, field)).total_seconds()) if found else 0.0


async def _stop(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel tasks and wait for them, with a time limit; a task that hangs is logged and left."""
    for task in tasks:
        task.cancel()
    if tasks:
        _, hanging = await asyncio.wait(tasks, timeout=_STOP_DEADLINE_S)
        for task in hanging:
            _log.error("background_hangs", piece=task.get_name())
