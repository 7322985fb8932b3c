"""A kill around the commit of a large event leaves no reference without its blob, and loses no event."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from aex_models.events import Event
from aex_runtime.blobs.port import Blobs
from aex_runtime.bus.dataref import EventData
from aex_runtime.bus.memory import MemoryBus
from aex_runtime.bus.port import Outgoing
from aex_runtime.bus.wire import decode_event
from aex_runtime.clock import SetClock, WallClock
from aex_runtime.ids import SeededIds
from aex_runtime.leases import Leases
from aex_runtime.outbox import OutboxPump
from aex_runtime.records import outbox_table
from aex_runtime.store.port import Query, Store
from aex_runtime.unit_of_work import UnitOfWork
from tests.libs.runtime.background import SERVICE
from tests.libs.runtime.bus.large_emitter import NOTES, emit, large_data, open_parts

KILLS = 8
pytestmark = pytest.mark.slow


class LoadingBus(MemoryBus):
    """A bus that loads what it publishes, as consumers do."""

    def __init__(self, blobs: Blobs) -> None:
        super().__init__()
        self._data = EventData(blobs)
        self.loaded: dict[str, Event] = {}

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        for each in messages:
            event, _ = await self._data.load_if_referenced(decode_event(each.message), each.message)
            self.loaded[event.subject] = event


def run_emitter(folder: Path, name: str, point: str, killed_after_s: float | None = None) -> list[str]:
    """Run the process until it is killed; return the names that it printed as committed."""
    command = [sys.executable, "-m", "tests.libs.runtime.bus.large_emitter", str(folder), name, point]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        printed: list[str] = []
        if killed_after_s is not None and process.stdout is not None:
            printed.append(process.stdout.readline().strip())
            time.sleep(killed_after_s)
            process.kill()
        rest, complaints = process.communicate(timeout=100)
    assert process.returncode == -signal.SIGKILL, complaints
    return [*printed, *rest.split()]


async def restart(store: Store, blobs: Blobs) -> LoadingBus:
    """Publish what is left, as the next process does once the grace is over."""
    bus, clock = LoadingBus(blobs), SetClock(WallClock().now() + timedelta(minutes=1))
    pump = OutboxPump(SERVICE, store, bus, clock, SeededIds(1), Leases(SERVICE, store, clock, "next"))
    await pump.publish_overdue_from_store()
    assert await outbox_table(SERVICE).find(store, order="created_at", limit=1) == []
    return bus


async def committed(store: Store) -> set[str]:
    return {each.key for each in await store.query_page(Query(NOTES.collection, order="name", limit=500))}


async def test_kill_between_blob_and_commit_leaves_a_blob_alone(tmp_path: Path) -> None:
    assert run_emitter(tmp_path, "work", "written") == []
    store, blobs = open_parts(tmp_path)
    assert [path.is_file() for path in (tmp_path / "blobs/events").glob("*/*")].count(True) == 1
    assert await committed(store) == set()
    assert (await restart(store, blobs)).loaded == {}
    units = UnitOfWork(SERVICE, store, WallClock(), lambda _: None, event_data=EventData(blobs))
    await emit(units, "work_0")  # the same command again: the blob is there already
    assert (await restart(store, blobs)).loaded.keys() == {"work_0"}
    await store.close()


async def test_kill_after_the_commit_publishes_the_event_after_the_restart(tmp_path: Path) -> None:
    run_emitter(tmp_path, "work", "committed")
    store, blobs = open_parts(tmp_path)
    assert await committed(store) == {"work_0"}
    bus = await restart(store, blobs)
    assert bus.loaded["work_0"].data == large_data("work_0").model_dump(mode="json")
    await store.close()


async def test_kills_at_any_time_lose_no_event_and_leave_no_dangling_reference(tmp_path: Path) -> None:
    chosen, printed = random.Random(20), set[str]()
    for number in range(KILLS):
        printed |= {*run_emitter(tmp_path, f"work_{number}", "forever", chosen.uniform(0, 0.2))}
    store, blobs = open_parts(tmp_path)
    kept = await committed(store)
    assert printed <= kept
    bus = await restart(store, blobs)
    assert bus.loaded.keys() == kept
    assert all(
        event.data["problems"] == large_data(name).model_dump(mode="json")["problems"]
        for name, event in bus.loaded.items()
    )
    await store.close()
