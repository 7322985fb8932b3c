"""Whether a transaction of the ledger is one that the service could have written. Pure."""

from collections.abc import Iterator

from aex_models.booking import Booking
from aex_models.settlement import LedgerTransaction, TransactionKind, sums_by_currency
from aex_settlement.rules.accounts import FEES, agent_account, consumer_account, is_account
from aex_settlement.rules.ids import reversal_transaction_id, settlement_transaction_id

BOOKED = (TransactionKind.SETTLEMENT, TransactionKind.REVERSAL)
_AMOUNTS = ("cpc", "cpa_bonus", "cpa_penalty", "total", "fee", "bonus_capped", "penalty_waived")
_WHOSE = ("revision", "work_id", "agent_id", "consumer_id", "domain")
_COUNTS = ("count", "success_count")


def transaction_problems(transaction: LedgerTransaction) -> Iterator[str]:
    """What is wrong with a transaction taken alone, in words."""
    if any(sums_by_currency(transaction.postings).values()):
        yield "its postings do not sum to zero"
    if not all(is_account(posting.account) for posting in transaction.postings):
        yield "it posts to an account that the ledger does not have"
    if transaction.kind not in BOOKED:
        if transaction.booking is not None:
            yield f"a {transaction.kind} carries a booking"
    elif transaction.booking is None or transaction.contract_id is None:
        yield f"a {transaction.kind} carries no booking or names no contract"
    else:
        yield from _booked_problems(transaction, transaction.booking, transaction.contract_id)


def _booked_problems(transaction: LedgerTransaction, booking: Booking, contract_id: str) -> Iterator[str]:
    settled = transaction.kind is TransactionKind.SETTLEMENT
    sign = 1 if settled else -1
    made = settlement_transaction_id if settled else reversal_transaction_id
    if transaction.id != made(contract_id, booking.revision):
        yield f"its id is not that of the {transaction.kind} of revision {booking.revision} of {contract_id}"
    if booking.count != sign or booking.success_count not in {0, sign}:
        yield "its booking is not counted once"
    if any(sign * getattr(booking, name) < 0 for name in _AMOUNTS):
        yield "its booking mixes signs"
    if booking.cpc + booking.cpa_bonus - booking.cpa_penalty != booking.total:
        yield "its booking does not add up to its total"
    if tuple((posting.account, posting.amount) for posting in transaction.postings) != tuple(_sides(booking)):
        yield "its postings are not those of its booking"
    if len({posting.currency for posting in transaction.postings}) != 1:
        yield "it mixes currencies"


def _sides(booking: Booking) -> Iterator[tuple[str, int]]:
    """The accounts and amounts that a booking posts: consumer +total, agent −(total − fee), fees −fee."""
    yield consumer_account(booking.consumer_id), booking.total
    yield agent_account(booking.agent_id), booking.fee - booking.total
    if booking.fee:
        yield FEES, -booking.fee


def mirror_problem(reversal: LedgerTransaction, original: LedgerTransaction | None) -> str | None:
    """Why a reversal does not take back the revision that it names; None where it does."""
    if original is None or original.booking is None or reversal.booking is None:
        return "the revision that it takes back is not in the ledger"
    one, other = reversal.booking, original.booking
    if any(getattr(one, name) != getattr(other, name) for name in _WHOSE):
        return "it is not of the same contract, parties or work as what it takes back"
    if any(getattr(one, name) != -getattr(other, name) for name in (*_AMOUNTS, *_COUNTS)):
        return "its figures are not those of what it takes back, negated"
    if _posted(reversal, -1) != _posted(original, 1):
        return "its postings are not those of what it takes back, negated"
    return None  # not their moments: the clocks of two replicas differ, and a clock is set back


def _posted(transaction: LedgerTransaction, sign: int) -> list[tuple[str, int, str]]:
    return [(posting.account, sign * posting.amount, posting.currency) for posting in transaction.postings]


def original_id(reversal: LedgerTransaction) -> str | None:
    """The id of the transaction that a reversal takes back; None for whatever is no reversal."""
    if reversal.kind is not TransactionKind.REVERSAL or reversal.booking is None or reversal.contract_id is None:
        return None
    return settlement_transaction_id(reversal.contract_id, reversal.booking.revision)
