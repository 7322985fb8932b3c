"""A store on which others are at work: something happens after each of its reads."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from aex_models.corrections import ReversalRequest
from aex_runtime.store.port import Collection, Document, Query, Store
from aex_runtime.store.table import Table
from aex_settlement.handlers.audit.verify import AuditReport, audit_ledger
from aex_settlement.handlers.journal.rebuild import rebuild_ledger_projections
from aex_settlement.handlers.journal.seal import seal_unsealed_transactions
from aex_settlement.handlers.post_transactions import reverse_settlement, settle_outcome
from aex_settlement.repository.projections import ACCOUNT_PAGES, BALANCES, DAYS, ROLLUPS, STATES
from aex_settlement.rules.projections import Projection
from tests.parts.passing import ForwardingStore
from tests.services.settlement.audit.ledgers import ONCE, audit, build, copy_of, deposit, found
from tests.services.settlement.audit.tampering import put
from tests.services.settlement.ledger_kit import LedgerKit
from tests.services.settlement.outcomes import an_outcome

Happening = Callable[[], Awaitable[None]]


class BusyStore(ForwardingStore):
    """The store, with `happens` after every read of pages or of several documents, at most `times` times.

    With `only`, after reads of that collection alone, and not after the first `spared` of them.
    """

    def __init__(
        self, store: Store, happens: Happening, times: int, only: Collection | None = None, spared: int = 0
    ) -> None:
        super().__init__(store)
        self._happens = happens
        self._only = only
        self._spared = spared
        self.left = times
        self._under_way = False

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        found = await super().get_many(collection, keys)
        await self._something(collection)
        return found

    async def query_page(self, query: Query) -> list[Document]:
        found = await super().query_page(query)
        await self._something(query.collection)
        return found

    async def _something(self, collection: Collection) -> None:
        if self._under_way or self._only not in {None, collection}:
            return
        self._spared -= 1
        if self.left > 0 and self._spared < 0:
            self.left -= 1
            self._under_way = True
            try:
                await self._happens()
            finally:
                self._under_way = False


async def audit_while(
    ledger: LedgerKit, happens: Happening, times: int, only: Collection | None = None, spared: int = 0
) -> AuditReport:
    store = BusyStore(ledger.deps.store, happens, times, only, spared)
    report = await audit_ledger(replace(ledger.deps, store=store), [], lambda _stage, _done, _total: None)
    assert store.left == 0
    return report


@pytest.fixture
async def filled() -> LedgerKit:
    """A ledger of many contracts, each of its own agent: most records take several pages."""
    return await copy_of(fill)


async def fill(ledger: LedgerKit) -> None:
    await build(ledger)
    for number in range(410):
        await settle_outcome(ledger.deps, an_outcome(f"ctr_many_{number}", agent_id=f"agent_{number}"))
    await ledger.seal()


def settling(ledger: LedgerKit) -> Happening:
    numbers = count()

    async def settle() -> None:
        number = next(numbers)
        ledger.clock.advance(timedelta(hours=7))
        await settle_outcome(ledger.deps, an_outcome(f"ctr_new_{number}", agent_id=f"agent_{number}"))
        await deposit(ledger)
        if number % 2:
            reversal = ReversalRequest(reason="late")
            await reverse_settlement(ledger.deps, f"ctr_many_{number}", reversal, "finance:ann", ONCE)
        await ledger.seal()

    return settle


async def test_sealing_meanwhile_is_no_finding(filled: LedgerKit) -> None:
    assert found(await audit_while(filled, settling(filled), 12)) == set()


@pytest.mark.parametrize("table", [BALANCES, ACCOUNT_PAGES, DAYS, ROLLUPS], ids=lambda table: table.collection.name)
async def test_batches_between_two_pages_count_for_later_pages(filled: LedgerKit, table: Table[Any]) -> None:
    only = table.collection
    assert found(await audit_while(filled, settling(filled), 3, only, spared=1)) == set()


async def test_unprojected_batch_is_no_finding(ledger: LedgerKit) -> None:

    async def seal() -> None:
        await deposit(ledger)
        await seal_unsealed_transactions(ledger.deps)

    assert found(await audit_while(ledger, seal, 5)) == set()


async def test_lagging_projection_is_compared_to_its_watermark(ledger: LedgerKit) -> None:
    await deposit(ledger)
    await seal_unsealed_transactions(ledger.deps)
    report = await audit(ledger)
    assert found(report) == set()
    assert report.seal is not None
    assert report.projections == dict.fromkeys(("accounts", "rollups"), report.seal.seq - 1)


async def test_a_projection_rebuilt_meanwhile_is_reported_as_unread(filled: LedgerKit) -> None:

    async def rebuild_rollups() -> None:
        await rebuild_ledger_projections(filled.deps, [Projection.ROLLUPS], lambda _done, _total: None)

    report = await audit_while(filled, rebuild_rollups, 1, ROLLUPS.collection)
    assert found(report) == {("projection_unread", "rollups")}
    assert found(await audit(filled)) == set()


async def test_watermark_damaged_meanwhile_is_a_finding(ledger: LedgerKit) -> None:

    async def damage() -> None:
        await put(ledger.deps.store, STATES, "rollups", b'{"nonsense":1}', {})

    report = await audit_while(ledger, damage, 1, ROLLUPS.collection)
    assert found(report) == {("projection_wrong", "rollups")}
    assert list(report.projections) == ["accounts"]


@pytest.mark.slow
async def test_moving_projection_is_reported_as_unread(ledger: LedgerKit) -> None:

    async def move() -> None:
        await deposit(ledger)
        await ledger.seal()

    store = BusyStore(ledger.deps.store, move, 400)
    report = await audit_ledger(replace(ledger.deps, store=store), [], lambda _stage, _done, _total: None)
    assert ("projection_unread", "accounts") in found(report)
