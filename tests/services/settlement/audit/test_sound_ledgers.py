"""A ledger that nobody touched has no findings, however it came about."""

from tests.services.settlement.audit.ledgers import BATCHES, TRANSACTIONS, audit, build
from tests.services.settlement.desk import Desk


async def test_a_ledger_that_nobody_touched_is_found_in_order(desk: Desk) -> None:
    await build(desk)
    audited = await audit(desk)
    assert audited.findings.shown == []
    assert (audited.batches, audited.transactions, audited.settlements) == (BATCHES, TRANSACTIONS, 4)
    assert audited.projections == {"accounts": BATCHES, "rollups": BATCHES}
    assert audited.seal is not None
    assert audited.seal.seq == BATCHES
