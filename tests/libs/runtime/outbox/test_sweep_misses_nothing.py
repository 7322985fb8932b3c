import asyncio
from datetime import timedelta

from hypothesis import example, given
from hypothesis import strategies as st

from aex_runtime.clock import SetClock
from aex_runtime.low_watermark import FULL_SCAN_INTERVAL, MARGIN
from aex_runtime.outbox import OutboxPolicy
from aex_runtime.records import outbox_table
from aex_runtime.store.memory import MemoryStore
from aex_runtime.unit_of_work import Unit, UnitOfWork
from tests.libs.runtime.background import SERVICE, START, RecordingBus, emit_checked
from tests.libs.runtime.outbox.process import GRACE, Process

OWN = st.tuples(st.just("own"), st.integers(0, 100))
OTHER = st.tuples(st.just("other"), st.integers(0, MARGIN // timedelta(seconds=1)))
ADVANCE = st.tuples(st.just("advance"), st.integers(0, 30))
SET_BACK = st.tuples(st.just("set back"), st.integers(1, 5_000))
SWEEP = st.tuples(st.just("sweep"), st.just(0))
REFUSE = st.tuples(st.just("refuse"), st.integers(0, 2))


@given(st.lists(st.one_of(OWN, OTHER, ADVANCE, SET_BACK, SWEEP, SWEEP, REFUSE), max_size=40))
@example([("sweep", 0), ("own", 40), ("sweep", 0)])
@example([("sweep", 0), ("set back", 5_000), ("other", 0), ("advance", 3), ("sweep", 0)])
def test_sweep_misses_nothing(steps: list[tuple[str, int]]) -> None:
    asyncio.run(Swept().take(steps))


class Swept:
    def __init__(self) -> None:
        self.store, self.bus, self.clock = MemoryStore(), RecordingBus(), SetClock(START)
        self.process = Process(self.store, self.bus, self.clock, policy=OutboxPolicy(batch=3, max_waiting=0))
        self.emitted = 0

    async def take(self, steps: list[tuple[str, int]]) -> None:
        for step, number in steps:
            await self._step(step, timedelta(seconds=number), number)
        self.clock.advance(FULL_SCAN_INTERVAL)
        await self._sweep()

    async def _step(self, step: str, by: timedelta, number: int) -> None:
        match step:
            case "own":
                await self._commit(self.process.unit_of_work, by)
            case "other":
                other = Process(self.store, self.bus, SetClock(self.clock.now() - by), "other")
                await self._commit(other.unit_of_work)
            case "advance":
                self.clock.advance(by)
            case "set back":
                self.clock.advance(-by)
                await self._sweep()
            case "refuse":
                self.bus.refused = frozenset({f"work_{self.emitted - number}"} if number else ())
            case _:
                await self._sweep()

    async def _commit(self, unit_of_work: UnitOfWork, after: timedelta | None = None) -> None:
        self.emitted += 1
        emit = emit_checked(f"work_{self.emitted}")

        async def slowly(unit: Unit) -> None:
            await emit(unit)
            if after is not None:
                self.clock.advance(after)
                await self._sweep()

        await unit_of_work.run(slowly)

    async def _sweep(self) -> None:
        await self.process.pump.publish_overdue_from_store()
        left = await outbox_table(SERVICE).find(self.store, order="created_at", limit=500)
        missed = [each for each in left if each.record.created_at <= self.clock.now() - GRACE]
        assert {each.record.event.subject for each in missed} <= self.bus.refused
