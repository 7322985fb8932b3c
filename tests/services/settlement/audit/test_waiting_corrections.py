"""A correction that waits to be sealed: both its halves are looked at, though there is one row for them."""

from decimal import Decimal

import pytest

from aex_models.corrections import Replacement, ReversalRequest
from aex_runtime.store.keys import key_of
from aex_settlement.handlers.reverse_settlement import reverse_settlement
from aex_settlement.repository.journal import UNSEALED
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.rules.ids import reversal_transaction_id, settlement_transaction_id
from tests.services.settlement.audit import tampering as t
from tests.services.settlement.audit.ledgers import ONCE, audit, build, found
from tests.services.settlement.desk import Desk

BACK, ANEW = reversal_transaction_id("ctr_3", 1), settlement_transaction_id("ctr_3", 2)


async def correct(desk: Desk) -> None:
    await build(desk)
    replacement = Replacement(base=Decimal("0.40"), bonus=Decimal("0.10"), penalty=Decimal(0))
    request = ReversalRequest(reason="wrong rate", replacement=replacement)
    await reverse_settlement(desk.deps, "ctr_3", request, "finance:ann", ONCE)


async def test_it_is_no_finding_and_counts_twice(desk: Desk) -> None:
    await correct(desk)
    audited = await audit(desk)
    assert (audited.findings.shown, audited.waiting, audited.first_waiting) == ([], 2, (BACK, ANEW))
    assert await desk.seal() == 2
    assert found(await audit(desk)) == set()


@pytest.mark.parametrize("half", [BACK, ANEW], ids=["reversal", "replacement"])
async def test_either_half_is_held_against_its_digest(desk: Desk, half: str) -> None:
    await correct(desk)
    await t.edit(desk.deps.store, TRANSACTIONS, key_of(half), lambda record: record.update(reason="another"))
    assert ("waiting_altered", half) in found(await audit(desk))
    await t.delete(desk.deps.store, TRANSACTIONS, key_of(half))
    assert ("waiting_missing", half) in found(await audit(desk))


async def test_a_row_that_forgot_one_half_is_found(desk: Desk) -> None:
    await correct(desk)
    await t.edit(desk.deps.store, UNSEALED, key_of(BACK), lambda row: row["transactions"].pop())
    assert ("transaction_added", ANEW) in found(await audit(desk))


async def test_a_row_that_puts_the_other_half_first_is_found(desk: Desk) -> None:
    await correct(desk)
    await t.edit(desk.deps.store, UNSEALED, key_of(BACK), lambda row: row["transactions"].reverse())
    assert {("waiting_wrong", key_of(BACK)), ("transaction_added", BACK)} <= found(await audit(desk))
