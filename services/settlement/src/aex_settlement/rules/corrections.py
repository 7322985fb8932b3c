"""A settlement taken back, and booked anew where finance says so. Pure."""

from datetime import datetime, timedelta

from aex_models.corrections import Replacement, ReversalRequest
from aex_models.money import ZERO, format_amount, share
from aex_models.settlement import Breakdown, Cost, Settlement, SettlementRevision, SettlementStatus
from aex_models.work import Problem
from aex_runtime.errors import Conflict, InvalidRequest

_MOMENT = timedelta(microseconds=1)
"""The shortest that a list in order of time can tell."""
MAX_REVISIONS = 100
"""Of one contract: its record holds them all, and is read and written whole."""


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


def taken_back_at(settlement: Settlement, now: datetime) -> datetime:
    """When the revision that stands is taken back: now, and later than it was booked, whatever this clock says.

    An even microsecond. What is booked instead has the odd one behind it, so that no day and no period that ends at an
    even one (`Period`) holds half a correction.
    """
    at = max(now, settlement.revisions[-1].settled_at + _MOMENT)
    return at + _MOMENT * (at.microsecond % 2)


def booked_anew_at(taken_back: datetime) -> datetime:
    """When the next revision is booked where the one before is taken back then: behind it in every list."""
    return taken_back + _MOMENT


def corrected(settlement: Settlement, request: ReversalRequest, cost: Cost | None, by: str, at: datetime) -> Settlement:
    """The settlement with its latest revision reversed `at` then and, where there is a `cost`, the next one booked.

    Raises `Conflict` for a revision beyond `MAX_REVISIONS`.
    """
    if cost is not None and settlement.revision >= MAX_REVISIONS:
        message = f"revision {settlement.revision} is the last that a contract takes: it can only be taken back"
        raise Conflict("too_many_revisions", message)
    *earlier, latest = settlement.revisions
    taken_back = latest.model_copy(update={"reversed_at": at, "reason": request.reason, "by": by})
    revisions = (*earlier, taken_back)
    if cost is None:
        return settlement.model_copy(update={"status": SettlementStatus.REVERSED, "revisions": revisions})
    revision = settlement.revision + 1
    booked = SettlementRevision(revision=revision, cost=cost, settled_at=booked_anew_at(at))
    return settlement.model_copy(update={"revision": revision, "revisions": (*revisions, booked), "cost": cost})
