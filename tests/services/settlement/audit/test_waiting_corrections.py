from decimal import Decimal

import pytest

from aex_models.corrections import Replacement, ReversalRequest
from aex_runtime.store.port import key_of
from aex_settlement.handlers.post_transactions import reverse_settlement
from aex_settlement.repository.journal import UNSEALED
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.rules.transactions import make_reversal_transaction_id, make_settlement_transaction_id
from tests.services.settlement.audit import tampering as t
from tests.services.settlement.audit.ledgers import ONCE, audit, found
from tests.services.settlement.ledger_kit import LedgerKit

REVERSAL, REPLACEMENT = make_reversal_transaction_id("ctr_3", 1), make_settlement_transaction_id("ctr_3", 2)


async def correct(ledger: LedgerKit) -> None:
    replacement = Replacement(base=Decimal("0.40"), bonus=Decimal("0.10"), penalty=Decimal(0))
    request = ReversalRequest(reason="wrong rate", replacement=replacement)
    await reverse_settlement(ledger.deps, "ctr_3", request, "finance:ann", ONCE)


async def test_it_is_no_finding_and_counts_twice(ledger: LedgerKit) -> None:
    await correct(ledger)
    report = await audit(ledger)
    assert (report.findings.listed, report.waiting, report.first_waiting) == ([], 2, (REVERSAL, REPLACEMENT))
    assert await ledger.seal() == 2
    assert found(await audit(ledger)) == set()


@pytest.mark.parametrize("half", [REVERSAL, REPLACEMENT], ids=["reversal", "replacement"])
async def test_either_half_is_held_against_its_digest(ledger: LedgerKit, half: str) -> None:
    await correct(ledger)
    await t.edit(ledger.deps.store, TRANSACTIONS, key_of(half), lambda record: record.update(reason="another"))
    assert ("waiting_altered", half) in found(await audit(ledger))
    await t.delete(ledger.deps.store, TRANSACTIONS, key_of(half))
    assert ("waiting_missing", half) in found(await audit(ledger))


async def test_a_row_that_forgot_one_half_is_found(ledger: LedgerKit) -> None:
    await correct(ledger)
    await t.edit(ledger.deps.store, UNSEALED, key_of(REVERSAL), lambda row: row["transactions"].pop())
    assert ("transaction_added", REPLACEMENT) in found(await audit(ledger))


async def test_a_row_that_puts_the_other_half_first_is_found(ledger: LedgerKit) -> None:
    await correct(ledger)
    await t.edit(ledger.deps.store, UNSEALED, key_of(REVERSAL), lambda row: row["transactions"].reverse())
    assert {("waiting_wrong", key_of(REVERSAL)), ("transaction_added", REVERSAL)} <= found(await audit(ledger))
