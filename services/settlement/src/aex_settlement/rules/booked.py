"""A revision of a contract's cost as the ledger's transaction: postings and the figures that are counted."""

from collections.abc import Sequence
from datetime import datetime

from aex_models.booking import Booking
from aex_models.money import to_micros
from aex_models.settlement import Cost, LedgerTransaction, Posting, Settlement, TransactionKind
from aex_settlement.rules.ids import reversal_transaction_id, settlement_transaction_id
from aex_settlement.rules.postings import settlement_postings

_FIGURES = (
    "count",
    "success_count",
    "cpc",
    "cpa_bonus",
    "cpa_penalty",
    "total",
    "fee",
    "bonus_capped",
    "penalty_waived",
)


def settlement_transaction(
    settlement: Settlement, revision: int, cost: Cost, occurred_at: datetime, reason: str, by: str
) -> LedgerTransaction:
    """What books `cost` as this revision of the contract's settlement."""
    return LedgerTransaction(
        id=settlement_transaction_id(settlement.contract_id, revision),
        contract_id=settlement.contract_id,
        kind=TransactionKind.SETTLEMENT,
        postings=settlement_postings(cost, settlement.consumer_id, settlement.agent_id),
        occurred_at=occurred_at,
        reason=reason,
        by=by,
        booking=_booking(settlement, revision, cost),
    )


def reversal_transaction(
    settlement: Settlement, revision: int, cost: Cost, occurred_at: datetime, reason: str, by: str
) -> LedgerTransaction:
    """What takes this revision, which cost `cost`, back: the same postings and figures, negated."""
    booking = _booking(settlement, revision, cost)
    return LedgerTransaction(
        id=reversal_transaction_id(settlement.contract_id, revision),
        contract_id=settlement.contract_id,
        kind=TransactionKind.REVERSAL,
        postings=_negated(settlement_postings(cost, settlement.consumer_id, settlement.agent_id)),
        occurred_at=occurred_at,
        reason=reason,
        by=by,
        booking=booking.model_copy(update={name: -getattr(booking, name) for name in _FIGURES}),
    )


def _booking(settlement: Settlement, revision: int, cost: Cost) -> Booking:
    return Booking(
        revision=revision,
        work_id=settlement.work_id,
        agent_id=settlement.agent_id,
        consumer_id=settlement.consumer_id,
        domain=settlement.domain,
        count=1,
        success_count=int(settlement.success),
        cpc=to_micros(cost.base),
        cpa_bonus=to_micros(cost.bonus),
        cpa_penalty=to_micros(cost.penalty),
        total=to_micros(cost.total),
        fee=to_micros(cost.fee),
        bonus_capped=to_micros(cost.bonus_capped),
        penalty_waived=to_micros(cost.penalty_waived),
    )


def _negated(postings: Sequence[Posting]) -> tuple[Posting, ...]:
    return tuple(posting.model_copy(update={"amount": -posting.amount}) for posting in postings)
