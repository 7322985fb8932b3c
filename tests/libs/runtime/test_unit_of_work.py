import threading
from typing import Any

import pytest

from aex_models.frozen import Frozen
from aex_runtime.clock import WallClock
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import AlreadyExists, Collection, Index
from aex_runtime.store.table import Table
from aex_runtime.unit_of_work import Unit, UnitOfWork


class Note(Frozen):
    text: str


class Notes:
    def __init__(self) -> None:
        self.threads: list[int] = []
        self.table = Table(Collection("notes", (Index(order="size"),)), Note, self._index)
        self.unit_of_work = UnitOfWork("test", MemoryStore(), WallClock(), lambda _: None)

    def _index(self, note: Note) -> dict[str, Any]:
        self.threads.append(threading.get_ident())
        return {"size": len(note.text)}

    async def text(self, key: str) -> str | None:
        stored = await self.table.get(self.unit_of_work.store, key)
        return stored.record.text if stored else None


async def test_large_records_are_encoded_in_a_thread() -> None:
    notes = Notes()

    async def write(unit: Unit) -> None:
        unit.create(notes.table, "small", Note(text="a"))
        await unit.create_large(notes.table, "created", Note(text="b" * 100_000))
        await unit.put_large(notes.table, "put", Note(text="c" * 100_000))
        await unit.put_large(notes.table, "small after all", Note(text="d"))

    await notes.unit_of_work.run(write)
    here = threading.get_ident()
    assert [thread == here for thread in notes.threads] == [True, False, False, True]
    assert [await notes.text(key) for key in ("small", "created", "put")] == ["a", "b" * 100_000, "c" * 100_000]


async def test_existing_large_record_is_not_created() -> None:
    notes = Notes()

    async def write(unit: Unit) -> None:
        await unit.create_large(notes.table, "key", Note(text="a"))

    await notes.unit_of_work.run(write)
    with pytest.raises(AlreadyExists):
        await notes.unit_of_work.run(write)
