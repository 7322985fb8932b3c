"""What is measured with a transaction is told once, and only where it commits."""

import pytest

from aex_models.frozen import Frozen
from aex_runtime.clock import WallClock
from aex_runtime.measures import CounterSpec, HistogramSpec
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Collection
from aex_runtime.store.table import Table
from aex_runtime.unit_of_work import Unit, UnitOfWork
from tests.parts.measured import Measured

MADE = CounterSpec("aex_made_total", "Made", {"kind": ("plain", "odd")})
TOOK = HistogramSpec("aex_made_seconds", "Time to make")


class Number(Frozen):
    value: int


NUMBERS = Table(Collection("numbers"), Number)


class Desk:
    def __init__(self) -> None:
        self.measured, store = Measured(), MemoryStore()
        self.unit_of_work = UnitOfWork("test", store, WallClock(), lambda _: None, self.measured)
        self.other = UnitOfWork("test", store, WallClock(), lambda _: None)


def measure(unit: Unit) -> None:
    unit.measures.count(MADE, "plain")
    unit.measures.observe(TOOK, 0.5)


async def test_what_is_committed_is_told() -> None:
    desk = Desk()

    async def make(unit: Unit) -> None:
        measure(unit)
        assert not desk.measured.counted  # not yet

    await desk.unit_of_work.run(make)
    assert desk.measured.counted == {("aex_made_total", "plain"): 1}
    assert desk.measured.observed == {("aex_made_seconds",): [0.5]}


async def test_a_transaction_that_runs_again_is_told_of_once() -> None:
    desk, runs = Desk(), 0

    async def put(unit: Unit) -> None:
        unit.put(NUMBERS, "a", Number(value=0))

    async def make(unit: Unit) -> None:
        nonlocal runs
        runs += 1
        found = await unit.get(NUMBERS, "a")
        if runs == 1:
            await desk.other.run(put)  # what was read is no longer so: this run cannot commit
        measure(unit)
        unit.put(NUMBERS, "a", Number(value=found.record.value + 1 if found else 1))

    await desk.unit_of_work.run(make)
    assert runs == 2
    assert desk.measured.counted == {("aex_made_total", "plain"): 1}
    assert desk.measured.observed == {("aex_made_seconds",): [0.5]}


async def test_a_run_that_finds_nothing_to_do_is_not_told_with_what_the_run_before_it_meant_to_do() -> None:
    desk, runs = Desk(), 0

    async def done(unit: Unit) -> None:
        unit.put(NUMBERS, "a", Number(value=1))

    async def make(unit: Unit) -> None:
        nonlocal runs
        runs += 1
        if await unit.get(NUMBERS, "a") is not None:
            return
        await desk.other.run(done)
        measure(unit)
        unit.create(NUMBERS, "a", Number(value=1))

    await desk.unit_of_work.run(make)
    assert runs == 2
    assert not desk.measured.counted


async def test_what_fails_is_not_told() -> None:
    desk = Desk()

    async def make(unit: Unit) -> None:
        measure(unit)
        raise ValueError("changed its mind")

    with pytest.raises(ValueError, match="changed"):
        await desk.unit_of_work.run(make)
    assert not desk.measured.counted
    assert not desk.measured.observed
