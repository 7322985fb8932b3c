import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aex_models.settlement import sum_micros_by_currency
from aex_runtime.store.firestore import FirestoreStore
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store
from aex_runtime.store.sqlite import SQLiteStore
from aex_settlement.sealer import seal_and_project
from tests.emulators.emulators import Emulators, new_project
from tests.examples import examples
from tests.parts.crashing import Crash, CrashingStore
from tests.services.settlement.journal.booking import Moved, Settled, book, moves, settlements
from tests.services.settlement.journal.recount import check_projections
from tests.services.settlement.journal.wholeness import Journal, checked_journal
from tests.services.settlement.ledger_kit import ledger_kit_over
from tests.services.settlement.outcomes import NOON

Step = tuple[str, Any]
FATES = st.lists(st.sampled_from([None, None, None, "before", "after"]), max_size=8)


@st.composite
def steps(draw: st.DrawFn) -> list[Step]:
    taken: list[Step] = []
    settled: list[Settled] = []
    for number in range(draw(st.integers(1, 25))):
        kind = draw(st.sampled_from(["settle", "settle", "settle", "reverse", "move", "wait", "seal", "race"]))
        if kind == "settle":
            settled.append(draw(settlements(number)))
            taken.append((kind, settled[-1]))
        elif kind == "reverse" and settled:
            taken.append((kind, settled.pop(draw(st.integers(0, len(settled) - 1))).reversed))
        elif kind == "move":
            taken.append((kind, draw(moves(number))))
        elif kind == "wait":
            taken.append((kind, timedelta(hours=draw(st.sampled_from([0, 1, 13, 24 * 31, -1, -13])))))
        elif kind in {"seal", "race"}:
            taken.append((kind, (draw(FATES), draw(FATES))))
    return taken


class Story:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.ledger = ledger_kit_over(store, NOON)
        self.journal = Journal()
        """As it was before the last step; it only grows."""

    async def take(self, taken: list[Step]) -> None:
        for kind, what in taken:
            if isinstance(what, Settled | Moved):
                await book(self.ledger, what)
            elif kind == "wait":
                self.ledger.clock.advance(what)
            elif kind == "seal":
                await self._crashing(what[0])
            else:
                await asyncio.gather(self._crashing(what[0]), self._crashing(what[1]))
            await self._check(at_head=False)
        await self.ledger.seal()
        await self._check(at_head=True)

    async def _crashing(self, fates: list[str | None]) -> None:
        try:
            await seal_and_project(replace(self.ledger.deps, store=CrashingStore(self.store, iter(fates))))
        except Crash:
            return

    async def _check(self, *, at_head: bool) -> None:
        journal = await checked_journal(self.store)
        await check_projections(self.store, journal, at_head=at_head)
        past = len(self.journal.batches)
        assert journal.batches[:past] == self.journal.batches
        assert journal.transactions[:past] == self.journal.transactions
        assert all(sum(sum_micros_by_currency(each.postings).values()) == 0 for each in journal.sealed)
        self.journal = journal


def check_story(opened: Callable[[], Store], taken: list[Step]) -> None:
    """Take the steps on a new store, and check journal and projections after each."""

    async def run() -> None:
        store = opened()
        try:
            await Story(store).take(taken)
        finally:
            await store.close()

    asyncio.run(run())


@settings(max_examples=examples(80), deadline=None)
@given(steps())
def test_projections_in_memory_equal_a_recount(taken: list[Step]) -> None:
    check_story(MemoryStore, taken)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps())
def test_projections_in_sqlite_equal_a_recount(taken: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check_story(lambda: SQLiteStore(Path(folder) / "store.sqlite3"), taken)


@pytest.mark.emulator
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(taken=steps())
def test_projections_in_firestore_equal_a_recount(emulators: Emulators, taken: list[Step]) -> None:
    check_story(lambda: FirestoreStore(new_project(), emulator=emulators.firestore.host), taken)
