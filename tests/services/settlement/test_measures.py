from datetime import timedelta
from decimal import Decimal

import pytest

from aex_models.corrections import ReversalRequest
from aex_runtime.http.idempotency import IdempotentRequest
from aex_runtime.records import Poison
from aex_runtime.store.memory import MemoryStore
from aex_settlement.handlers.post_transactions import reverse_settlement, settle_outcome
from aex_settlement.sealer import seal_and_project
from tests.parts.measured import RecordedMeasures
from tests.services.settlement.ledger_kit import LedgerKit, ledger_kit_over
from tests.services.settlement.outcomes import NOON, an_outcome

POSTED, REFUSED = "aex_ledger_transactions_total", ("aex_settlements_refused_total",)
SETTLING, SEALING = ("aex_settlement_lag_seconds",), ("aex_seal_lag_seconds",)


@pytest.fixture
def measured() -> RecordedMeasures:
    return RecordedMeasures()


@pytest.fixture
def ledger(measured: RecordedMeasures) -> LedgerKit:
    return ledger_kit_over(MemoryStore(), NOON, measured)


async def test_settlement_is_counted_once_and_its_lag_begins_at_the_outcome(
    ledger: LedgerKit, measured: RecordedMeasures
) -> None:
    ledger.clock.advance(timedelta(seconds=4))
    assert [await settle_outcome(ledger.deps, an_outcome()) for _ in range(3)] == [True, False, False]
    assert measured.counted == {(POSTED, "settlement"): 1}
    assert measured.observed == {SETTLING: [4.0]}
    ledger.clock.advance(timedelta(days=1))
    request = ReversalRequest.model_validate(
        {"reason": "wrong rate", "replacement": {"base": "0.80", "bonus": "0.00", "penalty": "0.30"}}
    )
    await reverse_settlement(ledger.deps, "ctr_1", request, "fiona", IdempotentRequest("", None, ""))
    assert measured.counted == {(POSTED, "settlement"): 2, (POSTED, "reversal"): 1}
    assert measured.observed == {SETTLING: [4.0]}


async def test_refused_outcome_is_counted_and_not_posted(ledger: LedgerKit, measured: RecordedMeasures) -> None:
    outcome = an_outcome()
    off = outcome.billing_impact.model_copy(update={"total": Decimal("1.49")})
    with pytest.raises(Poison):
        await settle_outcome(ledger.deps, outcome.model_copy(update={"billing_impact": off}))
    assert measured.counted == {REFUSED: 1}
    assert measured.observed == {}


async def test_seal_lag_is_that_of_the_oldest_transaction(ledger: LedgerKit, measured: RecordedMeasures) -> None:
    await seal_and_project(ledger.deps)
    assert SEALING not in measured.observed
    await settle_outcome(ledger.deps, an_outcome("ctr_1"))
    ledger.clock.advance(timedelta(seconds=2))
    await settle_outcome(ledger.deps, an_outcome("ctr_2"))
    ledger.clock.advance(timedelta(seconds=1))
    assert await seal_and_project(ledger.deps) == 2
    assert measured.observed[SEALING] == [3.0]
    await seal_and_project(ledger.deps)
    assert measured.observed[SEALING] == [3.0]
