"""A process that commits records with large events, for a test that kills it.

python -m tests.libs.runtime.bus.large_emitter FOLDER NAME written|committed    kills itself at that point
python -m tests.libs.runtime.bus.large_emitter FOLDER NAME forever              prints the names that are committed
"""

import asyncio
import os
import signal
import sys
from itertools import count
from pathlib import Path

from aex_models.events import Event, WorkChecked
from aex_models.frozen import Frozen
from aex_models.work import Problem
from aex_runtime.blobs.factory import open_blobs
from aex_runtime.blobs.port import Blobs
from aex_runtime.bus.dataref import MAX_INLINE_BYTES, EventData
from aex_runtime.clock import WallClock
from aex_runtime.store.port import Collection, Index, Store
from aex_runtime.store.sqlite import SQLiteStore
from aex_runtime.store.table import Table
from aex_runtime.unit_of_work import Committed, Unit, UnitOfWork
from tests.libs.runtime.background import SERVICE, TOPIC


class Note(Frozen):
    """The record whose event is large."""

    name: str


NOTES = Table(Collection("large-notes", (Index(order="name"),)), Note, lambda note: {"name": note.name})


def open_parts(folder: Path) -> tuple[Store, Blobs]:
    return SQLiteStore(folder / "store.sqlite3"), open_blobs(f"file:///{folder}/blobs")


def large_data(name: str) -> WorkChecked:
    """Return data above the limit, different for each name."""
    text = (f"{name} " * MAX_INLINE_BYTES)[: MAX_INLINE_BYTES + 1]
    return WorkChecked(work_id=name, ok=False, problems=(Problem(path="", code="large", message=text),))


class KilledAfterWriting(EventData):
    """Event data whose process is killed after the blob is durable, before the commit."""

    async def store_if_large(self, event: Event) -> Event:
        stored = await super().store_if_large(event)
        _kill()
        return stored


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def emit(units: UnitOfWork, name: str) -> None:
    async def write(unit: Unit) -> None:
        unit.create(NOTES, name, Note(name=name))
        unit.emit(TOPIC, name, large_data(name))

    await units.run(write)


async def main(folder: Path, name: str, point: str) -> None:
    store, blobs = open_parts(folder)
    data = KilledAfterWriting(blobs) if point == "written" else EventData(blobs)

    def on_commit(_: Committed) -> None:
        if point == "committed":
            _kill()

    units = UnitOfWork(SERVICE, store, WallClock(), on_commit, event_data=data)
    for number in count():
        await emit(units, f"{name}_{number}")
        sys.stdout.write(f"{name}_{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
