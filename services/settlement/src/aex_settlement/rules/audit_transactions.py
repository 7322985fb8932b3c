"""Audit of transactions and settlements: defects of each, and a common form to compare them."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from aex_models.corrections import Booking
from aex_models.money import to_micros
from aex_models.settlement import (
    LedgerTransaction,
    Settlement,
    SettlementRevision,
    SettlementStatus,
    TransactionKind,
)
from aex_settlement.rules.transactions import (
    FEES,
    agent_account,
    consumer_account,
    is_account_name,
    make_reversal_transaction_id,
    make_settlement_transaction_id,
)

SETTLEMENT_KINDS = (TransactionKind.SETTLEMENT, TransactionKind.REVERSAL)
_AMOUNTS = ("cpc", "cpa_bonus", "cpa_penalty", "total", "fee", "bonus_capped", "penalty_waived")
_IDENTITY = ("revision", "work_id", "agent_id", "consumer_id", "domain")
_COUNTS = ("count", "success_count")
_COSTS = ("base", "bonus", "penalty", "total", "fee", "bonus_capped", "penalty_waived")
_BOOKING_FIELDS = tuple(Booking.model_fields)


def find_transaction_problems(transaction: LedgerTransaction) -> Iterator[str]:
    """Yield each defect of a transaction by itself, as text. Its model has checked that it balances."""
    if not all(is_account_name(posting.account) for posting in transaction.postings):
        yield "it posts to an account that the ledger does not have"
    if transaction.kind not in SETTLEMENT_KINDS:
        if transaction.booking is not None:
            yield f"a {transaction.kind} carries a booking"
    elif transaction.booking is None or transaction.contract_id is None:
        yield f"a {transaction.kind} carries no booking or names no contract"
    else:
        yield from _settlement_transaction_problems(transaction, transaction.booking, transaction.contract_id)


def _settlement_transaction_problems(
    transaction: LedgerTransaction, booking: Booking, contract_id: str
) -> Iterator[str]:
    is_settlement = transaction.kind is TransactionKind.SETTLEMENT
    sign = 1 if is_settlement else -1
    expected_id = make_settlement_transaction_id if is_settlement else make_reversal_transaction_id
    if transaction.id != expected_id(contract_id, booking.revision):
        yield f"its id is not that of the {transaction.kind} of revision {booking.revision} of {contract_id}"
    if booking.count != sign or booking.success_count not in {0, sign}:
        yield "its booking is not counted once"
    if any(sign * getattr(booking, name) < 0 for name in _AMOUNTS):
        yield "its booking mixes signs"
    if booking.cpc + booking.cpa_bonus - booking.cpa_penalty != booking.total:
        yield "its booking does not add up to its total"
    if tuple((posting.account, posting.amount) for posting in transaction.postings) != tuple(
        _expected_postings(booking)
    ):
        yield "its postings are not those of its booking"
    if len({posting.currency for posting in transaction.postings}) != 1:
        yield "it mixes currencies"


def _expected_postings(booking: Booking) -> Iterator[tuple[str, int]]:
    """Yield the postings that follow from a booking: consumer +total, agent −(total − fee), fees −fee."""
    yield consumer_account(booking.consumer_id), booking.total
    yield agent_account(booking.agent_id), booking.fee - booking.total
    if booking.fee:
        yield FEES, -booking.fee


def find_reversal_mismatch(reversal: LedgerTransaction, original: LedgerTransaction | None) -> str | None:
    """Return, as text, why a reversal does not negate the original transaction; None if it does."""
    if original is None or original.booking is None or reversal.booking is None:
        return "the revision that it reverses is not in the ledger"
    one, other = reversal.booking, original.booking
    if any(getattr(one, name) != getattr(other, name) for name in _IDENTITY):
        return "it is not of the same contract, parties or work as what it reverses"
    if any(getattr(one, name) != -getattr(other, name) for name in (*_AMOUNTS, *_COUNTS)):
        return "its figures are not those of what it reverses, negated"
    if _signed_postings(reversal, -1) != _signed_postings(original, 1):
        return "its postings are not those of what it reverses, negated"
    return None  # times are not compared: the clocks of two replicas differ, and a clock is set back


def _signed_postings(transaction: LedgerTransaction, sign: int) -> list[tuple[str, int, str]]:
    return [(posting.account, sign * posting.amount, posting.currency) for posting in transaction.postings]


def id_of_reversed_transaction(reversal: LedgerTransaction) -> str | None:
    """Return the id of the transaction that a reversal negates; None for other kinds."""
    if reversal.kind is not TransactionKind.REVERSAL or reversal.booking is None or reversal.contract_id is None:
        return None
    return make_settlement_transaction_id(reversal.contract_id, reversal.booking.revision)


class BookingRecord(NamedTuple):
    """Common form of a settlement or reversal, built from its transaction or from its settlement.

    The two records are equal unless the ledger was altered.
    """

    transaction_id: str
    contract_id: str
    booking: tuple[object, ...]
    """Values of a `Booking`, in the order of its fields."""
    currency: str
    occurred_at: datetime
    reason: str
    """Reason and author of a reversal; empty for a settlement."""

    def comparison_text(self) -> str:
        """Return a text that is equal only for equal records."""
        return "\x1f".join(map(str, (*self[:2], *self.booking, *self[3:])))


def record_of_transaction(transaction: LedgerTransaction) -> BookingRecord | None:
    """Return the comparable record of a settlement or reversal; None for deposits and adjustments."""
    if transaction.booking is None or transaction.contract_id is None:
        return None
    return BookingRecord(
        transaction.id,
        transaction.contract_id,
        tuple(map(vars(transaction.booking).get, _BOOKING_FIELDS)),
        transaction.postings[0].currency,
        transaction.occurred_at,
        _reason(transaction.reason, transaction.by) if transaction.kind is TransactionKind.REVERSAL else "",
    )


def records_of_settlement(settlement: Settlement) -> Iterator[BookingRecord]:
    """Yield the records of all transactions that a settlement requires: its revisions and reversals."""
    for each in settlement.revisions:
        yield _record(settlement, each, 1, each.settled_at)
        if each.reversed_at is not None:
            yield _record(settlement, each, -1, each.reversed_at)


def _record(settlement: Settlement, revision: SettlementRevision, sign: int, at: datetime) -> BookingRecord:
    transaction_id = make_settlement_transaction_id if sign > 0 else make_reversal_transaction_id
    cost = revision.cost
    parties = (settlement.work_id, settlement.agent_id, settlement.consumer_id, settlement.domain)
    counts = (sign, sign * settlement.success)
    amounts = (sign * to_micros(getattr(cost, name)) for name in _COSTS)
    reason = _reason(revision.reason or "", revision.by or "") if sign < 0 else ""
    return BookingRecord(
        transaction_id(settlement.contract_id, revision.revision),
        settlement.contract_id,
        (revision.revision, *parties, *counts, *amounts),
        cost.currency,
        at,
        reason,
    )


def _reason(reason: str, by: str) -> str:
    return f"{reason}\x1e{by}"


def format_differing_field_names(expected: BookingRecord, posted: BookingRecord) -> str:
    """Return the names of the fields in which two records differ, separated by commas."""
    values, others = (
        each._asdict() | dict(zip(_BOOKING_FIELDS, each.booking, strict=True)) for each in (expected, posted)
    )
    return ", ".join(name for name, value in values.items() if name != "booking" and others[name] != value)


def find_settlement_problems(settlement: Settlement) -> Iterator[str]:
    """Yield each contradiction within a settlement, as text. Its model has checked that costs add up."""
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
        if each.cost.contract_id != settlement.contract_id:
            yield f"the cost of revision {each.revision} is of another contract"
