"""Deposits and adjustments as finance asks for them: what is wrong with them, all of it in one answer."""

from aex_models.currencies import ISO_4217
from aex_models.money import format_amount, from_micros
from aex_models.settlement import Posting, TransactionKind, TransactionRequest, sums_by_currency
from aex_models.work import Problem
from aex_settlement.rules.accounts import CASH, has_address, is_account, is_consumer_account


def transaction_problems(request: TransactionRequest) -> tuple[Problem, ...]:
    """Why the ledger would not take these postings; empty where it would."""
    found = [
        Problem(path=f"/postings/{position}/{field}", code=code, message=message)
        for position, posting in enumerate(request.postings)
        for field, code, message in _posting_problems(posting, request.kind)
    ]
    return (*found, *_whole_problems(request.postings))


def _posting_problems(posting: Posting, kind: TransactionKind) -> list[tuple[str, str, str]]:
    found = []
    if not is_account(posting.account):
        names = "consumer:{id}, agent:{id}, platform:fees, platform:cash"
        found.append(("account", "unknown_account", f"No such account; accounts are {names}"))
    elif not has_address(posting.account):
        message = "An account that ends in /entries cannot be read: it is taken for the entries of another one"
        found.append(("account", "unreadable_account", message))
    elif kind is TransactionKind.DEPOSIT:
        found.extend(_deposit_problems(posting))
    if posting.currency not in ISO_4217:
        found.append(("currency", "unknown_currency", f"{posting.currency} is no ISO 4217 currency"))
    if posting.amount == 0:
        found.append(("amount", "zero_amount", "A posting moves an amount that is not 0"))
    return found


def _deposit_problems(posting: Posting) -> list[tuple[str, str, str]]:
    """A deposit: cash +, consumer − (spec file 6)."""
    if posting.account == CASH:
        return [("amount", "not_a_deposit", "A deposit debits platform:cash: +")] if posting.amount < 0 else []
    if is_consumer_account(posting.account):
        return [("amount", "not_a_deposit", "A deposit credits the consumer: −")] if posting.amount > 0 else []
    return [("account", "not_a_deposit", "A deposit is between platform:cash and a consumer")]


def _whole_problems(postings: tuple[Posting, ...]) -> list[Problem]:
    sums = sums_by_currency(postings)
    if len(sums) > 1:
        return [
            Problem(
                path="/postings",
                code="mixed_currencies",
                message=f"One transaction has one currency; these have {', '.join(sorted(sums))}",
            )
        ]
    return [
        Problem(
            path="/postings",
            code="unbalanced",
            message=f"Postings sum to {amount:+d} micros ({format_amount(from_micros(amount))} {currency}), not to 0",
        )
        for currency, amount in sums.items()
        if amount
    ]
