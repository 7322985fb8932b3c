import asyncio
import tempfile
from dataclasses import replace
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aex_runtime.store.firestore import FirestoreStore
from aex_runtime.store.port import Store
from aex_settlement.repository.projections import ACCOUNT_PAGES, read_state
from aex_settlement.rules.projections import Projection
from aex_settlement.sealer import catch_up
from tests.emulators.emulators import Emulators, new_project
from tests.examples import examples
from tests.parts.crashing import Crash, CrashingStore
from tests.services.settlement.journal.booking import Moved, Settled, book, moves, settlements
from tests.services.settlement.journal.recount import check_projections, trial_balance
from tests.services.settlement.journal.wholeness import Journal, checked_journal
from tests.services.settlement.ledger_kit import LedgerKit, ledger_kit_over, open_store
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
        self.balances: dict[int, Any] = {}
        """Balances by batch; a past answer never changes."""

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
            await self._check(await checked_journal(self.store), at_head=False)
        await self.ledger.seal()
        await self._check(await checked_journal(self.store), at_head=True)

    async def _crashing(self, fates: list[str | None]) -> None:
        try:
            await catch_up(replace(self.ledger.deps, store=CrashingStore(self.store, iter(fates))))
        except Crash:
            return

    async def _check(self, journal: Journal, *, at_head: bool) -> None:
        await check_projections(self.store, journal, at_head=at_head)
        for seq in range(1, len(journal.batches) + 1):
            balance = trial_balance(chain.from_iterable(journal.transactions[:seq]))
            assert not any(_by_currency(balance).values()), f"batch {seq} does not balance"
            assert self.balances.setdefault(seq, balance) == balance, f"the answer for batch {seq} has changed"
        assert await closing_balances(self.ledger) == _closing(self.balances, await _watermark(self.ledger))


async def closing_balances(ledger: LedgerKit) -> dict[tuple[str, str], int]:
    state = await read_state(ledger.deps.store, Projection.ACCOUNTS)
    if state is None:
        return {}
    found = await ACCOUNT_PAGES.find(ledger.deps.store, {"generation": state.generation}, limit=10_000)
    pages = sorted((each.record for each in found), key=lambda page: page.seq)
    return {(page.account, page.currency): page.closing for page in pages}


async def _watermark(ledger: LedgerKit) -> int:
    state = await read_state(ledger.deps.store, Projection.ACCOUNTS)
    return state.seq if state else 0


def _closing(balances: dict[int, Any], seq: int) -> Any:
    return balances[seq] if seq else {}


def _by_currency(balance: dict[tuple[str, str], int]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for (_, currency), amount in balance.items():
        sums[currency] = sums.get(currency, 0) + amount
    return sums


@settings(max_examples=examples(80), deadline=None)
@given(steps())
def test_projections_in_memory_equal_a_recount(taken: list[Step]) -> None:
    async def run_story() -> None:
        async with open_store("memory", Path()) as store:
            await Story(store).take(taken)

    asyncio.run(run_story())


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps())
def test_projections_in_sqlite_equal_a_recount(taken: list[Step]) -> None:
    async def run_story() -> None:
        with tempfile.TemporaryDirectory() as folder:
            async with open_store("sqlite", Path(folder)) as store:
                await Story(store).take(taken)

    asyncio.run(run_story())


@pytest.mark.emulator
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(taken=steps())
def test_projections_in_firestore_equal_a_recount(emulators: Emulators, taken: list[Step]) -> None:
    async def run_story() -> None:
        store = FirestoreStore(new_project(), emulator=emulators.firestore.host)
        try:
            await Story(store).take(taken)
        finally:
            await store.close()

    asyncio.run(run_story())
