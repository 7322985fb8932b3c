import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from aex_runtime.errors import TemporarilyUnavailable
from aex_runtime.store.memory import MemoryStore
from aex_settlement.handlers.consistent_reads import LONG_READ_S, MAX_ATTEMPTS, read_consistent
from aex_settlement.handlers.journal.rebuild import rebuild_ledger_projections
from aex_settlement.rules.projections import Projection, ProjectionState
from tests.services.settlement.journal.booking import Settled, book
from tests.services.settlement.ledger_kit import LedgerKit, ledger_kit_over
from tests.services.settlement.outcomes import NOON


@pytest.fixture
async def ledger() -> AsyncIterator[LedgerKit]:
    store = MemoryStore()
    ledger = ledger_kit_over(store, NOON)
    await ledger.seal()
    yield ledger
    await store.close()


class Reading:
    """Reads for `seconds`; meanwhile something is settled, at the first `moves` readings."""

    def __init__(self, ledger: LedgerKit, moves: int, seconds: float = 0.0) -> None:
        self._ledger, self._moves, self._seconds = ledger, moves, seconds
        self.states: list[int] = []
        self.longest_s = 0.0

    async def __call__(self, state: ProjectionState) -> int:
        begin = time.monotonic()
        self.states.append(state.seq)
        await asyncio.sleep(self._seconds)
        if len(self.states) <= self._moves:
            await book(self._ledger, Settled(state.seq))
            await self._ledger.seal()
        self.longest_s = max(self.longest_s, time.monotonic() - begin)
        return state.seq


@pytest.mark.parametrize(("moves", "reads"), [(2, 3), (99, MAX_ATTEMPTS)])
async def test_moved_projection_is_read_at_most_five_times(ledger: LedgerKit, moves: int, reads: int) -> None:
    while True:
        reading = Reading(ledger, moves)
        answer = await read_consistent(ledger.deps, Projection.ROLLUPS, reading)
        if reading.longest_s < LONG_READ_S:  # on a busy machine even a short read may count as a long one: once more
            break
    first = reading.states[0]
    assert reading.states == [*range(first, first + reads)]
    assert answer == reading.states[-1]


async def test_long_read_answers_as_of_its_beginning(ledger: LedgerKit) -> None:
    reading = Reading(ledger, moves=99, seconds=LONG_READ_S * 1.2)
    assert await read_consistent(ledger.deps, Projection.ROLLUPS, reading) == 1
    assert reading.states == [1]


async def test_a_generation_that_was_taken_away_is_never_answered_from_however_long_it_took(ledger: LedgerKit) -> None:
    read: list[str] = []

    async def long(state: ProjectionState) -> str:
        read.append(state.generation)
        await asyncio.sleep(LONG_READ_S * 1.2 if len(read) == 1 else 0)
        if len(read) == 1:
            await rebuild_ledger_projections(ledger.deps, [Projection.ACCOUNTS], lambda _done, _all: None)
        return state.generation

    assert await read_consistent(ledger.deps, Projection.ACCOUNTS, long) == read[1]
    assert read[1] != read[0]


async def test_repeatedly_rebuilt_projection_is_unavailable(ledger: LedgerKit) -> None:
    async def rebuilt(state: ProjectionState) -> str:
        await rebuild_ledger_projections(ledger.deps, [Projection.ACCOUNTS], lambda _done, _all: None)
        return state.generation

    with pytest.raises(TemporarilyUnavailable, match="books_rebuilt"):
        await read_consistent(ledger.deps, Projection.ACCOUNTS, rebuilt)
