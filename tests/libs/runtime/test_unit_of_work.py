import threading
from typing import Any

import pytest

from aex_models.frozen import Frozen
from aex_runtime.clock import WallClock
from aex_runtime.measures import CounterSpec, HistogramSpec
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import AlreadyExists, Collection, Index
from aex_runtime.store.table import Table
from aex_runtime.unit_of_work import Unit, UnitOfWork
from tests.parts.measured import RecordedMeasures


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


MADE = CounterSpec("aex_made_total", "Made", {"kind": ("plain", "other")})
TOOK = HistogramSpec("aex_made_seconds", "Time to make")


class Number(Frozen):
    value: int


NUMBERS = Table(Collection("numbers"), Number)


class RecordingMeasures:
    def __init__(self) -> None:
        self.measured, store = RecordedMeasures(), MemoryStore()
        self.unit_of_work = UnitOfWork("test", store, WallClock(), lambda _: None, self.measured)
        self.other = UnitOfWork("test", store, WallClock(), lambda _: None)


def measure(unit: Unit) -> None:
    unit.measures.count(MADE, "plain")
    unit.measures.observe(TOOK, 0.5)


async def test_measures_of_a_commit_are_recorded() -> None:
    recorder = RecordingMeasures()

    async def make(unit: Unit) -> None:
        measure(unit)
        assert not recorder.measured.counted  # not yet

    await recorder.unit_of_work.run(make)
    assert recorder.measured.counted == {("aex_made_total", "plain"): 1}
    assert recorder.measured.observed == {("aex_made_seconds",): [0.5]}


@pytest.mark.parametrize("repeats", [True, False])
async def test_measures_of_the_committed_run_alone_are_recorded(repeats: bool) -> None:
    recorder, runs = RecordingMeasures(), 0

    async def put(unit: Unit) -> None:
        unit.put(NUMBERS, "a", Number(value=0))

    async def make(unit: Unit) -> None:
        nonlocal runs
        runs += 1
        found = await unit.get(NUMBERS, "a")
        if runs == 1:
            await recorder.other.run(put)  # a conflict: this run cannot commit
        if runs == 1 or repeats:
            measure(unit)
        unit.put(NUMBERS, "a", Number(value=found.record.value + 1 if found else 1))

    await recorder.unit_of_work.run(make)
    assert runs == 2
    assert recorder.measured.counted == ({("aex_made_total", "plain"): 1} if repeats else {})
    assert recorder.measured.observed == ({("aex_made_seconds",): [0.5]} if repeats else {})


async def test_failed_transaction_records_nothing() -> None:
    recorder = RecordingMeasures()

    async def make(unit: Unit) -> None:
        measure(unit)
        raise ValueError("cancelled")

    with pytest.raises(ValueError, match="cancelled"):
        await recorder.unit_of_work.run(make)
    assert not recorder.measured.counted
    assert not recorder.measured.observed
