from dataclasses import replace
from pathlib import Path

import pytest

from aex_runtime.store.port import key_of
from aex_settlement.handlers.journal.seal import seal_unsealed_transactions
from aex_settlement.repository.journal import read_journal_head
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.repository.projections import read_projection_state
from aex_settlement.rules.journal import BrokenJournal
from aex_settlement.rules.projections import Projection
from aex_settlement.sealer import seal_and_project
from tests.parts.crashing import HookedStore
from tests.services.settlement.audit.tampering import overwrite
from tests.services.settlement.journal.booking import Settled, book, book_together
from tests.services.settlement.journal.recount import check_projections
from tests.services.settlement.journal.wholeness import checked_journal
from tests.services.settlement.ledger_kit import ledger_kit_over, open_store
from tests.services.settlement.outcomes import NOON


async def test_a_long_queue_is_sealed_and_applied_in_portions(tmp_path: Path) -> None:
    async with open_store("sqlite", tmp_path) as store:
        ledger = ledger_kit_over(store, NOON)
        for start in range(0, 2_600, 200):
            await book_together(ledger, range(start, start + 200))
        seen: list[tuple[int, int]] = []

        async def look(_commit: int) -> None:
            head, state = await read_journal_head(store), await read_projection_state(store, Projection.ACCOUNTS)
            seen.append((head.seq if head else 0, state.seq if state else 0))

        assert await seal_and_project(replace(ledger.deps, store=HookedStore(store, look))) == 2_600
        assert max(sealed - applied for sealed, applied in seen) <= 12
        await check_projections(store, await checked_journal(store))


async def test_where_the_journal_is_broken_all_that_waits_is_sealed_none_the_less(tmp_path: Path) -> None:
    async with open_store("sqlite", tmp_path) as store:
        ledger = ledger_kit_over(store, NOON)
        (victim,) = await book(ledger, Settled(9_999))
        await seal_unsealed_transactions(ledger.deps)
        await overwrite(ledger.deps.store, TRANSACTIONS, key_of(victim.id), None)
        for start in range(0, 2_400, 200):
            await book_together(ledger, range(start, start + 200))
        with pytest.raises(BrokenJournal, match=victim.id):
            await seal_and_project(ledger.deps)
        assert await seal_unsealed_transactions(ledger.deps) == 0
        head, state = await read_journal_head(store), await read_projection_state(store, Projection.ROLLUPS)
        assert head is not None
        assert (head.seq, state) == (2 + 12, None)
