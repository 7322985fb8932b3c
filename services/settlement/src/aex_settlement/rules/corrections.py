"""A settlement taken back, and booked anew where finance says so. Pure."""

from datetime import datetime

from aex_models.corrections import Replacement, ReversalRequest
from aex_models.money import ZERO, format_amount, share
from aex_models.settlement import Breakdown, Cost, Settlement, SettlementRevision, SettlementStatus
from aex_models.work import Problem
from aex_runtime.errors import Conflict, InvalidRequest


def check_replacement(replacement: Replacement | None) -> None:
    """Raise `InvalidRequest` for a cost below 0: finance says what it means, nothing is waived in silence."""
    total = ZERO if replacement is None else replacement.base + replacement.bonus - replacement.penalty
    if total < 0:
        message = f"base + bonus − penalty is {format_amount(total)}: lower the penalty, a cost is never below 0"
        raise InvalidRequest(
            "negative_total", message, [Problem(path="/replacement", code="negative_total", message=message)]
        )


def check_correctable(settlement: Settlement, meant: int | None, seen: int | None) -> None:
    """Raise `Conflict` where the revision that is `meant` (or was `seen` when the request came) does not stand.

    None: whichever stands. A contract that costs nothing any more has nothing to take back: a reversal is not reversed.
    """
    if settlement.revision != (meant or settlement.revision) or settlement.revision != (seen or settlement.revision):
        raise Conflict("revision_changed", f"the settlement is at revision {settlement.revision} by now: look again")
    if settlement.status is SettlementStatus.REVERSED:
        message = f"revision {settlement.revision} is reversed, and nothing was booked in its place"
        raise Conflict("already_reversed", message)


def replaced_cost(settlement: Settlement, replacement: Replacement) -> Cost:
    """What finance says that the contract costs: no criteria, caps or floor behind it; the fee as the terms have it."""
    total = replacement.base + replacement.bonus - replacement.penalty
    return Cost(
        contract_id=settlement.contract_id,
        currency=settlement.cost.currency,
        base=replacement.base,
        bonus=replacement.bonus,
        penalty=replacement.penalty,
        bonus_capped=ZERO,
        penalty_waived=ZERO,
        fee=share(total, settlement.fee_rate),
        total=total,
        breakdown=Breakdown(cpc=replacement.base, cpa_bonus=replacement.bonus, cpa_penalty=replacement.penalty),
    )


def no_cost(settlement: Settlement) -> Cost:
    """What a contract costs whose settlement is reversed: zeros."""
    return replaced_cost(settlement, Replacement(base=ZERO, bonus=ZERO, penalty=ZERO))


def corrected(
    settlement: Settlement, request: ReversalRequest, cost: Cost | None, by: str, now: datetime
) -> Settlement:
    """The settlement with its latest revision reversed and, where there is a `cost`, the next one booked."""
    *earlier, latest = settlement.revisions
    taken_back = latest.model_copy(update={"reversed_at": now, "reason": request.reason, "by": by})
    revisions = (*earlier, taken_back)
    if cost is None:
        return settlement.model_copy(update={"status": SettlementStatus.REVERSED, "revisions": revisions})
    revision = settlement.revision + 1
    booked = SettlementRevision(revision=revision, cost=cost, settled_at=now)
    return settlement.model_copy(update={"revision": revision, "revisions": (*revisions, booked), "cost": cost})
