"""Finance's corrections of a day: some of the contracts that were settled the day before."""

from collections.abc import Sequence
from decimal import Decimal

from aex_models.corrections import Replacement, ReversalRequest
from aex_runtime.http.idempotency import IdempotentRequest
from aex_settlement.deps import Deps
from aex_settlement.handlers.reverse_settlement import reverse_settlement
from tests.benchmarks.ledger.drawing import Share, contract_id

EVERY = 400
"""One contract in so many is corrected; every second one of them is booked anew."""
INSTEAD = Replacement(base=Decimal("0.20"), bonus=Decimal("0.100001"), penalty=Decimal("0.05"))
_NO_KEY = IdempotentRequest("benchmark", None, "")


async def correct_some(deps: Deps, day_before: Sequence[Share]) -> int:
    """Take settlements back by the service's own handler. Answers how many transactions that made.

    `day_before` has no shares on the first day.
    """
    chosen = range(day_before[0].first, day_before[0].end, EVERY) if day_before else range(0)
    for place, number in enumerate(chosen):
        request = ReversalRequest(reason="billed in error", replacement=None if place % 2 else INSTEAD)
        await reverse_settlement(deps, contract_id(number), request, "finance", _NO_KEY)
    return len(chosen) + (len(chosen) + 1) // 2
