"""Whether the settlements that are shown are those that were booked: both tell their bookings in one form. Pure."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from aex_models.money import to_micros
from aex_models.settlement import (
    LedgerTransaction,
    Settlement,
    SettlementRevision,
    SettlementStatus,
    TransactionKind,
)
from aex_settlement.rules.ids import reversal_transaction_id, settlement_transaction_id


class Claim(NamedTuple):
    """One booking of a contract, as its transaction has it and as its settlement's record has it. Amounts in micros."""

    transaction_id: str
    contract_id: str
    work_id: str
    agent_id: str
    consumer_id: str
    domain: str
    counted: int
    succeeded: int
    currency: str
    base: int
    bonus: int
    penalty: int
    total: int
    fee: int
    bonus_capped: int
    penalty_waived: int
    occurred_at: datetime
    reason: str
    """Of a reversal, with who did it; empty for a settlement."""

    def text(self) -> str:
        """The same for equal claims alone."""
        return "\x1f".join(map(str, self))


def claim_of(transaction: LedgerTransaction) -> Claim | None:
    """What a booked transaction says; None for deposits and adjustments."""
    booking = transaction.booking
    if booking is None or transaction.contract_id is None:
        return None
    return Claim(
        transaction.id,
        transaction.contract_id,
        booking.work_id,
        booking.agent_id,
        booking.consumer_id,
        booking.domain,
        booking.count,
        booking.success_count,
        transaction.postings[0].currency,
        booking.cpc,
        booking.cpa_bonus,
        booking.cpa_penalty,
        booking.total,
        booking.fee,
        booking.bonus_capped,
        booking.penalty_waived,
        transaction.occurred_at,
        _reason(transaction.reason, transaction.by) if transaction.kind is TransactionKind.REVERSAL else "",
    )


def claims_of(settlement: Settlement) -> Iterator[Claim]:
    """What a settlement's record says that the ledger holds: each revision, and each reversal of one."""
    for each in settlement.revisions:
        yield _claim(settlement, each, 1, each.settled_at)
        if each.reversed_at is not None:
            yield _claim(settlement, each, -1, each.reversed_at)


def _claim(settlement: Settlement, revision: SettlementRevision, sign: int, at: datetime) -> Claim:
    made = settlement_transaction_id if sign > 0 else reversal_transaction_id
    cost = revision.cost
    return Claim(
        made(settlement.contract_id, revision.revision),
        settlement.contract_id,
        settlement.work_id,
        settlement.agent_id,
        settlement.consumer_id,
        settlement.domain,
        sign,
        sign * settlement.success,
        cost.currency,
        sign * to_micros(cost.base),
        sign * to_micros(cost.bonus),
        sign * to_micros(cost.penalty),
        sign * to_micros(cost.total),
        sign * to_micros(cost.fee),
        sign * to_micros(cost.bonus_capped),
        sign * to_micros(cost.penalty_waived),
        at,
        _reason(revision.reason or "", revision.by or "") if sign < 0 else "",
    )


def _reason(reason: str, by: str) -> str:
    return f"{reason}\x1e{by}"


def differing_fields(one: Claim, other: Claim) -> str:
    """The names of the fields in which two claims differ."""
    return ", ".join(name for name in Claim._fields if getattr(one, name) != getattr(other, name))


def settlement_problems(settlement: Settlement) -> Iterator[str]:
    """Where a settlement's record contradicts itself, in words."""
    if [each.revision for each in settlement.revisions] != [*range(1, max(settlement.revision, 1) + 1)]:
        yield "its revisions are not numbered from 1 to its revision"
        return
    *earlier, latest = settlement.revisions
    if any(each.reversed_at is None for each in earlier):
        yield "a revision that was replaced is not reversed"
    if (settlement.status is SettlementStatus.REVERSED) != (latest.reversed_at is not None):
        yield "its status is not that of its latest revision"
    if settlement.cost != latest.cost:
        yield "its cost is not that of its latest revision"
    if settlement.settled_at != settlement.revisions[0].settled_at:
        yield "settled_at is not that of its first revision"
    for each in settlement.revisions:
        cost, parts = each.cost, each.cost.breakdown
        if cost.contract_id != settlement.contract_id:
            yield f"the cost of revision {each.revision} is of another contract"
        if (parts.cpc, parts.cpa_bonus, parts.cpa_penalty) != (cost.base, cost.bonus, cost.penalty):
            yield f"the breakdown of revision {each.revision} is not its cost"
