"""Ledger transactions: accounts, ids, postings, and checks of requested transactions."""

import re
from datetime import datetime
from functools import partial

from aex_models.canonical import sha256_hex
from aex_models.corrections import Booking
from aex_models.money import ISO_4217, format_amount, from_micros, to_micros
from aex_models.settlement import (
    Cost,
    LedgerTransaction,
    Posting,
    Settlement,
    TransactionKind,
    TransactionRequest,
    sum_micros_by_currency,
)
from aex_models.work import Problem

FEES = "platform:fees"
CASH = "platform:cash"
_NAME = re.compile(r"platform:(fees|cash)|(consumer|agent):[A-Za-z0-9._:@/+-]{1,128}", re.ASCII)


def consumer_account(consumer_id: str) -> str:
    """Return the name of a consumer's account: debits are what it owes, credits are its deposits."""
    return f"consumer:{consumer_id}"


def agent_account(agent_id: str) -> str:
    """Return the name of an agent's account: credits are what the platform owes to it."""
    return f"agent:{agent_id}"


def is_account_name(name: str) -> bool:
    """Return whether the name is `consumer:{id}`, `agent:{id}` or one of the platform's two accounts."""
    return _NAME.fullmatch(name) is not None


def is_consumer_account(name: str) -> bool:
    """Return whether the name is that of a consumer's account."""
    return is_account_name(name) and name.startswith("consumer:")


def settlement_postings(cost: Cost, consumer_id: str, agent_id: str, sign: int = 1) -> tuple[Posting, ...]:
    """Return the postings of a cost: consumer +total, agent −(total − fee), fees −fee.

    Amounts are micros × `sign` and sum to zero. Both parties are posted even with 0, so that projections count the
    contract; fees only if they are not 0.
    """
    total, fee = to_micros(cost.total), to_micros(cost.fee)
    sides = [(consumer_account(consumer_id), total), (agent_account(agent_id), fee - total)]
    if fee:
        sides.append((FEES, -fee))
    return tuple(Posting(account=account, amount=sign * amount, currency=cost.currency) for account, amount in sides)


def make_settlement_transaction_id(contract_id: str, revision: int) -> str:
    """Return the id of the transaction that settles a revision, a hash of contract and revision."""
    return _transaction_id("settlement", contract_id, revision)


def make_reversal_transaction_id(contract_id: str, revision: int) -> str:
    """Return the id of the transaction that reverses a revision, a hash of contract and revision."""
    return _transaction_id("reversal", contract_id, revision)


def leader_id(transaction: LedgerTransaction) -> str:
    """Return the id of the first transaction in the commit of this one, by which they are sealed together.

    The leader of a replacement is the reversal of the revision before. Every other transaction is its own leader.
    """
    booking, contract_id = transaction.booking, transaction.contract_id
    if transaction.kind is not TransactionKind.SETTLEMENT or booking is None or contract_id is None:
        return transaction.id
    return make_reversal_transaction_id(contract_id, booking.revision - 1) if booking.revision > 1 else transaction.id


def _transaction_id(kind: str, contract_id: str, revision: int) -> str:
    cause = "\x1f".join((kind, contract_id, str(revision)))
    return f"txn_{sha256_hex(cause.encode())[:40]}"


def build_settlement_transaction(
    settlement: Settlement,
    revision: int,
    cost: Cost,
    occurred_at: datetime,
    reason: str,
    by: str,
    kind: TransactionKind = TransactionKind.SETTLEMENT,
) -> LedgerTransaction:
    """Return the transaction that posts `cost` as this revision; with kind `reversal`, its negation."""
    sign = -1 if kind is TransactionKind.REVERSAL else 1
    return LedgerTransaction(
        id=_transaction_id(kind, settlement.contract_id, revision),
        contract_id=settlement.contract_id,
        kind=kind,
        postings=settlement_postings(cost, settlement.consumer_id, settlement.agent_id, sign),
        occurred_at=occurred_at,
        reason=reason,
        by=by,
        booking=_booking(settlement, revision, cost, sign),
    )


build_reversal_transaction = partial(build_settlement_transaction, kind=TransactionKind.REVERSAL)


def _booking(settlement: Settlement, revision: int, cost: Cost, sign: int) -> Booking:
    return Booking(
        revision=revision,
        work_id=settlement.work_id,
        agent_id=settlement.agent_id,
        consumer_id=settlement.consumer_id,
        domain=settlement.domain,
        count=sign,
        success_count=sign * settlement.success,
        cpc=sign * to_micros(cost.base),
        cpa_bonus=sign * to_micros(cost.bonus),
        cpa_penalty=sign * to_micros(cost.penalty),
        total=sign * to_micros(cost.total),
        fee=sign * to_micros(cost.fee),
        bonus_capped=sign * to_micros(cost.bonus_capped),
        penalty_waived=sign * to_micros(cost.penalty_waived),
    )


def find_request_problems(request: TransactionRequest) -> tuple[Problem, ...]:
    """Return every reason for which the ledger refuses a requested transaction."""
    found = [
        Problem(path=f"/postings/{position}/{field}", code=code, message=message)
        for position, posting in enumerate(request.postings)
        for field, code, message in _posting_problems(posting, request.kind)
    ]
    return (*found, *_sum_problems(request.postings))


def _posting_problems(posting: Posting, kind: TransactionKind) -> list[tuple[str, str, str]]:
    found = []
    if not is_account_name(posting.account):
        names = "consumer:{id}, agent:{id}, platform:fees, platform:cash"
        found.append(("account", "unknown_account", f"No such account; accounts are {names}"))
    elif posting.account.endswith("/entries"):
        message = "An account that ends in /entries cannot be read: its address is that of another account's entries"
        found.append(("account", "unreadable_account", message))
    elif kind is TransactionKind.DEPOSIT:
        found.extend(_deposit_problems(posting))
    if posting.currency not in ISO_4217:
        found.append(("currency", "unknown_currency", f"{posting.currency} is no ISO 4217 currency"))
    if posting.amount == 0:
        found.append(("amount", "zero_amount", "A posting moves an amount that is not 0"))
    return found


def _deposit_problems(posting: Posting) -> list[tuple[str, str, str]]:
    if posting.account == CASH:
        return [("amount", "not_a_deposit", "A deposit debits platform:cash: +")] if posting.amount < 0 else []
    if is_consumer_account(posting.account):
        return [("amount", "not_a_deposit", "A deposit credits the consumer: −")] if posting.amount > 0 else []
    return [("account", "not_a_deposit", "A deposit is between platform:cash and a consumer")]


def _sum_problems(postings: tuple[Posting, ...]) -> list[Problem]:
    sums = sum_micros_by_currency(postings)
    if len(sums) > 1:
        found = [("mixed_currencies", f"One transaction has one currency; these have {', '.join(sorted(sums))}")]
    else:
        found = [
            ("unbalanced", f"Postings sum to {each:+d} micros ({format_amount(from_micros(each))} {name}), not to 0")
            for name, each in sums.items()
            if each
        ]
    return [Problem(path="/postings", code=code, message=message) for code, message in found]
