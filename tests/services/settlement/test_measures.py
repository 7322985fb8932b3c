"""What settlement counts and times: bookings by kind, how late outcomes are settled, and how late they are sealed."""

from datetime import timedelta
from decimal import Decimal

import pytest

from aex_models.corrections import ReversalRequest
from aex_runtime.clock import SetClock
from aex_runtime.handlers import Poison
from aex_runtime.http.idempotency import IdempotentRequest
from aex_runtime.ids import SeededIds
from aex_runtime.store.memory import MemoryStore
from aex_runtime.unit_of_work import UnitOfWork
from aex_settlement.deps import Deps
from aex_settlement.handlers.reverse_settlement import reverse_settlement
from aex_settlement.handlers.settle_outcome import settle_outcome
from aex_settlement.sealer import catch_up
from tests.parts.measured import Measured
from tests.services.settlement.outcomes import NOON, an_outcome

BOOKED, REFUSED = "aex_ledger_transactions_total", ("aex_settlements_refused_total",)
SETTLING, SEALING = ("aex_settlement_lag_seconds",), ("aex_seal_lag_seconds",)


class Desk:
    def __init__(self) -> None:
        self.measured, self.clock, store = Measured(), SetClock(NOON), MemoryStore()
        unit_of_work = UnitOfWork("settlement", store, self.clock, lambda _: None, self.measured)
        self.deps = Deps(unit_of_work, store, self.clock, SeededIds(1), lambda: None)


async def test_an_outcome_is_settled_once_and_its_lag_is_from_the_outcome_s_commit() -> None:
    desk = Desk()
    desk.clock.advance(timedelta(seconds=4))
    assert [await settle_outcome(desk.deps, an_outcome()) for _ in range(3)] == [True, False, False]
    assert desk.measured.counted == {(BOOKED, "settlement"): 1}
    assert desk.measured.observed == {SETTLING: [4.0]}


async def test_a_correction_is_a_reversal_and_a_settlement_and_no_lag() -> None:
    desk = Desk()
    await settle_outcome(desk.deps, an_outcome())
    desk.clock.advance(timedelta(days=1))
    request = ReversalRequest.model_validate(
        {"reason": "wrong rate", "replacement": {"base": "0.80", "bonus": "0.00", "penalty": "0.30"}}
    )
    await reverse_settlement(desk.deps, "ctr_1", request, "fiona", IdempotentRequest("", None, ""))
    assert desk.measured.counted == {(BOOKED, "settlement"): 2, (BOOKED, "reversal"): 1}
    assert desk.measured.observed == {SETTLING: [0.0]}


async def test_an_outcome_that_does_not_add_up_is_counted_and_booked_nowhere() -> None:
    desk, outcome = Desk(), an_outcome()
    off = outcome.billing_impact.model_copy(update={"total": Decimal("1.49")})
    with pytest.raises(Poison):
        await settle_outcome(desk.deps, outcome.model_copy(update={"billing_impact": off}))
    assert desk.measured.counted == {REFUSED: 1}
    assert desk.measured.observed == {}


async def test_a_batch_tells_how_long_its_oldest_transaction_waited_and_an_empty_one_tells_nothing() -> None:
    desk = Desk()
    await catch_up(desk.deps)
    assert SEALING not in desk.measured.observed
    await settle_outcome(desk.deps, an_outcome("ctr_1"))
    desk.clock.advance(timedelta(seconds=2))
    await settle_outcome(desk.deps, an_outcome("ctr_2"))
    desk.clock.advance(timedelta(seconds=1))
    assert await catch_up(desk.deps) == 2
    assert desk.measured.observed[SEALING] == [3.0]
    await catch_up(desk.deps)
    assert desk.measured.observed[SEALING] == [3.0]
