"""Processes that commit events and publish them."""

from datetime import timedelta

from aex_runtime.clock import SetClock
from aex_runtime.ids import SeededIds
from aex_runtime.leases import Leases
from aex_runtime.outbox import OutboxPolicy, OutboxPump
from aex_runtime.outbox_parked import ParkedEvents
from aex_runtime.records import outbox_table
from aex_runtime.store.port import Query, Store
from aex_runtime.unit_of_work import UnitOfWork
from tests.libs.runtime.background import SERVICE, START, RecordingBus, emit_checked

_TICK = timedelta(milliseconds=10)
QUICK = OutboxPolicy(batch=3, sweep_every=_TICK, delete_after=_TICK, drain=timedelta(seconds=1))
GRACE = QUICK.grace


class Process:
    def __init__(
        self, store: Store, bus: RecordingBus, clock: SetClock, name: str = "a", policy: OutboxPolicy = QUICK
    ) -> None:
        leases = Leases(SERVICE, store, clock, name)
        self.pump = OutboxPump(SERVICE, store, bus, clock, SeededIds(1), leases, policy)
        self.unit_of_work = UnitOfWork(
            SERVICE, store, clock, lambda committed: self.pump.notify_committed(committed.queued)
        )

    async def emit(self, *names: str) -> None:
        await self.unit_of_work.run(emit_checked(*names))


class Outbox:
    def __init__(self, store: Store) -> None:
        self.store, self.bus, self.clock = store, RecordingBus(), SetClock(START)
        self.parked = ParkedEvents(SERVICE, store, self.clock)

    def process(self, name: str = "a", policy: OutboxPolicy = QUICK) -> Process:
        return Process(self.store, self.bus, self.clock, name, policy)

    def process_behind(self, by: timedelta) -> Process:
        """Return a process with a slow clock."""
        return Process(self.store, self.bus, SetClock(self.clock.now() - by))

    async def emit_each(self, process: Process, names: list[str], pause: timedelta) -> None:
        for name in names:
            await process.emit(name)
            self.clock.advance(pause)

    async def rows(self) -> int:
        return len(await self.store.query_page(Query(outbox_table(SERVICE).collection, order="created_at", limit=500)))

    async def is_empty(self) -> bool:
        return await self.rows() == 0
