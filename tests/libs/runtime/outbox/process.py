"""A process that emits events and publishes them."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from aex_runtime.clock import SetClock
from aex_runtime.ids import SeededIds
from aex_runtime.leases import Leases
from aex_runtime.outbox import OutboxPolicy, OutboxPump
from aex_runtime.outbox_entry import outbox_table
from aex_runtime.store.port import Query, Store
from aex_runtime.unit_of_work import Committed, UnitOfWork
from tests.libs.runtime.background import SERVICE, RecordingBus, emit_checked

QUICK = OutboxPolicy(
    batch=3,
    sweep_every=timedelta(milliseconds=10),
    forget_after=timedelta(milliseconds=10),
    drain=timedelta(seconds=1),
)
GRACE = QUICK.grace


class Process:
    """One process of a service: its unit of work and its pump, on a store and a bus that outlive it."""

    def __init__(
        self, store: Store, bus: RecordingBus, clock: SetClock, name: str = "a", policy: OutboxPolicy = QUICK
    ) -> None:
        leases = Leases(SERVICE, store, clock, name)
        self.pump = OutboxPump(SERVICE, store, bus, clock, SeededIds(1), leases, policy)
        self.unit_of_work = UnitOfWork(SERVICE, store, clock, self._committed)

    def _committed(self, committed: Committed) -> None:
        self.pump.notify(committed.events)

    async def emit(self, *names: str) -> None:
        await self.unit_of_work.run(emit_checked(*names))


async def rows(store: Store) -> int:
    return len(await store.query(Query(outbox_table(SERVICE).collection, order="created_at", limit=500)))


def empty(store: Store) -> Callable[[], Awaitable[bool]]:
    async def condition() -> bool:
        return await rows(store) == 0

    return condition
