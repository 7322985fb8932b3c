"""Answers of one moment, out of books that move: read again, but not where that costs much and helps nothing."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from aex_runtime.errors import TemporarilyUnavailable
from aex_runtime.store.memory import MemoryStore
from aex_settlement.handlers.journal.rebuild_projections import rebuild
from aex_settlement.handlers.steady import PATIENCE_S, TRIES, at_one_state, of_one_generation
from aex_settlement.rules.projected import Projection, ProjectionState
from tests.services.settlement.desk import Desk, desk_over
from tests.services.settlement.journal.booking import Settled, book
from tests.services.settlement.outcomes import NOON


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    store = MemoryStore()
    desk = desk_over(store, NOON)
    await desk.seal()
    yield desk
    await store.close()


class Reading:
    """Reads for `seconds`; meanwhile something is settled, at the first `moves` readings."""

    def __init__(self, desk: Desk, moves: int, seconds: float = 0.0) -> None:
        self._desk, self._moves, self._seconds = desk, moves, seconds
        self.states: list[int] = []

    async def __call__(self, state: ProjectionState) -> int:
        self.states.append(state.seq)
        await asyncio.sleep(self._seconds)
        if len(self.states) <= self._moves:
            await book(self._desk, Settled(len(self.states)))
            await self._desk.seal()
        return state.seq


async def test_what_moved_meanwhile_is_read_again(desk: Desk) -> None:
    reading = Reading(desk, moves=2)
    assert await at_one_state(desk.deps, Projection.ROLLUPS, reading) == 3
    assert reading.states == [1, 2, 3]


async def test_what_never_rests_is_read_a_few_times_and_said_as_of_the_earlier_moment(desk: Desk) -> None:
    reading = Reading(desk, moves=99)
    assert await at_one_state(desk.deps, Projection.ROLLUPS, reading) == TRIES
    assert reading.states == [*range(1, TRIES + 1)]


async def test_what_takes_long_is_read_once_and_said_as_of_the_earlier_moment(desk: Desk) -> None:
    reading = Reading(desk, moves=99, seconds=PATIENCE_S * 1.2)
    assert await at_one_state(desk.deps, Projection.ROLLUPS, reading) == 1
    assert reading.states == [1]


async def test_a_generation_that_was_taken_away_is_never_answered_from_however_long_it_took(desk: Desk) -> None:
    read: list[str] = []

    async def long(state: ProjectionState) -> str:
        read.append(state.generation)
        await asyncio.sleep(PATIENCE_S * 1.2 if len(read) == 1 else 0)
        if len(read) == 1:
            await rebuild(desk.deps, [Projection.ACCOUNTS], lambda _done, _all: None)
        return state.generation

    assert await of_one_generation(desk.deps, Projection.ACCOUNTS, long) == read[1]
    assert read[1] != read[0]


async def test_books_that_are_rebuilt_again_and_again_are_said_to_be(desk: Desk) -> None:
    async def rebuilt(state: ProjectionState) -> str:
        await rebuild(desk.deps, [Projection.ACCOUNTS], lambda _done, _all: None)
        return state.generation

    with pytest.raises(TemporarilyUnavailable, match="books_rebuilt"):
        await of_one_generation(desk.deps, Projection.ACCOUNTS, rebuilt)
