"""A process that sweeps an outbox of the embedded backend, and prints memory and delays."""

import asyncio
import json
import re
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import psutil

from aex_models.events import Event
from aex_runtime.blobs.factory import open_blobs
from aex_runtime.bus.embedded import EmbeddedBus
from aex_runtime.bus.port import Outgoing
from aex_runtime.clock import WallClock
from aex_runtime.ids import RandomIds
from aex_runtime.leases import Leases
from aex_runtime.outbox import OutboxPump
from aex_runtime.outbox_parked import ParkedEvents
from aex_runtime.records import OutboxEntry, outbox_table
from aex_runtime.store.port import Store, Transaction
from aex_runtime.store.spill import SpillingStore
from aex_runtime.store.sqlite import SQLiteStore
from aex_runtime.unit_of_work import UnitOfWork
from tests.libs.runtime.background import SERVICE, TOPIC, emit_checked, eventually_async

WARM_UP = "governance"
"""A service whose outbox is swept before the measurement, so that code and buffers are loaded."""
UNDECLARED = "work.invented"
"""A type that the embedded bus refuses by itself."""
COMMITTED, PAUSE_S = 30, 0.05


class TimingBus(EmbeddedBus):
    """The embedded bus, which notes when it published which subject."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.published: dict[str, float] = {}

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        await super().publish(messages)
        now = time.monotonic()
        self.published |= {each.message.attributes["ce-subject"]: now for each in messages}


def open_store(folder: Path) -> Store:
    """Open the store as a service does: large bodies are blobs in a folder."""
    return SpillingStore(SQLiteStore(folder / "store.sqlite3"), open_blobs(f"file:///{folder}/blobs"))


async def fill(store: Store, service: str, kind: str, names: Sequence[str], size: int) -> None:
    """Commit outbox rows as a process that died left them: older than the grace, with data of this size."""
    table, now = outbox_table(service), WallClock().now() - timedelta(minutes=1)

    async def write(transaction: Transaction) -> None:
        for name in names:
            data = {"work_id": name, "ok": True, "text": "x" * size}
            event = Event(id=f"evt_{name}", type=kind, source=service, subject=name, time=now, data=data)
            transaction.put(table.collection, event.id, *table.encode(OutboxEntry(event=event, created_at=now)))

    await store.transact(write)


def peak_bytes() -> int:
    """Return the peak of resident memory; `getrusage` would also count the parent before the start."""
    kilobytes = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    return int(kilobytes[0]) * 1024


async def is_empty(store: Store) -> bool:
    return not await outbox_table(SERVICE).find(store, order="created_at", limit=1)


async def measure(folder: Path) -> dict[str, float]:
    """Sweep until every row is published or parked, while further events are committed."""
    store, bus, clock = open_store(folder), TimingBus(folder / "bus"), WallClock()
    await fill(store, WARM_UP, TOPIC, [f"warm_{number}" for number in range(100)], 100)
    await OutboxPump(
        WARM_UP, store, bus, clock, RandomIds(), Leases(WARM_UP, store, clock, "a")
    ).publish_overdue_from_store()
    before, begun = psutil.Process().memory_info().rss, time.monotonic()
    pump = OutboxPump(SERVICE, store, bus, clock, RandomIds(), Leases(SERVICE, store, clock, "a"))
    unit_of_work = UnitOfWork(SERVICE, store, clock, lambda committed: pump.notify_committed(committed.queued))
    running = asyncio.create_task(pump.run())
    committed: dict[str, float] = {}
    for number in range(COMMITTED):
        name = f"new_{number}"
        committed[name] = time.monotonic()
        await unit_of_work.run(emit_checked(name))
        await asyncio.sleep(PAUSE_S)
    await eventually_async(lambda: is_empty(store))
    grown = peak_bytes() - before
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    left = [at - begun for name, at in bus.published.items() if name.startswith("left_")]
    return {
        "grown_mb": grown / 1e6,
        "left_s": max(left),
        "new_s": max(bus.published[name] - at for name, at in committed.items()),
        "published": len(left) + len(committed),
        "parked": await ParkedEvents(SERVICE, store, clock).count(100),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(measure(Path(sys.argv[1])))))
