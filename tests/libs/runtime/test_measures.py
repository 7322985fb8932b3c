import pytest

from aex_models.frozen import Frozen
from aex_runtime.clock import WallClock
from aex_runtime.measures import CounterSpec, HistogramSpec
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Collection
from aex_runtime.store.table import Table
from aex_runtime.unit_of_work import Unit, UnitOfWork
from tests.parts.measured import Measured

MADE = CounterSpec("aex_made_total", "Made", {"kind": ("plain", "other")})
TOOK = HistogramSpec("aex_made_seconds", "Time to make")


class Number(Frozen):
    value: int


NUMBERS = Table(Collection("numbers"), Number)


class RecordingMeasures:
    def __init__(self) -> None:
        self.measured, store = Measured(), MemoryStore()
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
