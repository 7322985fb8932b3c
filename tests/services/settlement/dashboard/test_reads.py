from collections import Counter as Tally
from collections.abc import Sequence
from pathlib import Path

import pytest

from aex_runtime.errors import NotFound
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Collection, Document
from aex_settlement.handlers.read_ledger import read_transactions
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.rules.transactions import make_reversal_transaction_id, make_settlement_transaction_id
from tests.services.settlement.counter import open_counter
from tests.services.settlement.ledger_kit import FINANCE, ledger_kit_over
from tests.services.settlement.outcomes import NOON


class CountingStore(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.reads: Tally[str] = Tally()

    async def get(self, collection: Collection, key: str) -> Document | None:
        self.reads["one"] += collection == TRANSACTIONS.collection
        return await super().get(collection, key)

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        self.reads["many"] += collection == TRANSACTIONS.collection
        return await super().get_many(collection, keys)


async def test_the_transactions_of_a_settlement_are_read_at_once(tmp_path: Path) -> None:
    store = CountingStore()
    async with open_counter(ledger_kit_over(store, NOON), tmp_path / "data") as counter:
        await counter.settle("ctr_1")
        for _ in range(3):
            await counter.reverse("ctr_1", replacement={"base": "1.00", "bonus": "0.00", "penalty": "0.00"})
        store.reads.clear()
        assert (await counter.ask(FINANCE, "/dashboard/settlements/ctr_1")).status_code == 200
    assert (store.reads["one"], store.reads["many"]) == (0, 1)


async def test_transactions_come_in_the_requested_order(tmp_path: Path) -> None:
    async with open_counter(ledger_kit_over(MemoryStore(), NOON), tmp_path / "data") as counter:
        await counter.settle("ctr_1")
        await counter.reverse("ctr_1")
        expected = [make_reversal_transaction_id("ctr_1", 1), make_settlement_transaction_id("ctr_1", 1)]
        found = await read_transactions(counter.ledger.deps, expected)
        assert [each.id for each in found] == expected
        with pytest.raises(NotFound, match="transaction_not_found"):
            await read_transactions(counter.ledger.deps, [*expected, "txn_gone"])
