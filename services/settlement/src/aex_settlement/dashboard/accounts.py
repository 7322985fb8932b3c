"""What the pages of the accounts show. Pure: balances and daily snapshots in, figures to render out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from aex_models.money import from_micros
from aex_models.settlement import AccountBalance, AccountEntry
from aex_settlement.rules.projected import DayBalance

MAX_ACCOUNTS = 500


@dataclass(frozen=True, slots=True)
class BalanceSheet:
    """All accounts in one currency. `total` is the sum over all of them: zero, or the books are broken."""

    currency: str
    rows: tuple[AccountBalance, ...]
    more: int
    """Accounts that match and are not shown."""
    total: Decimal


@dataclass(frozen=True, slots=True)
class DayFigures:
    """What an account held at the end of a day, and what moved on it."""

    day: str
    debits: Decimal
    credits: Decimal
    closing: Decimal


@dataclass(frozen=True, slots=True)
class EntryRow:
    """A line of an account's book."""

    entry: AccountEntry
    debit: Decimal | None
    credit: Decimal | None


def balance_sheets(balances: Sequence[AccountBalance], sought: str) -> tuple[BalanceSheet, ...]:
    """By currency; of the accounts only those whose name holds `sought`, the sum over all."""
    sheets = []
    for currency in sorted({each.currency for each in balances}):
        of_currency = [each for each in balances if each.currency == currency]
        matching = [each for each in of_currency if sought in each.account]
        total = sum((each.balance for each in of_currency), Decimal(0))
        sheets.append(
            BalanceSheet(currency, tuple(matching[:MAX_ACCOUNTS]), max(len(matching) - MAX_ACCOUNTS, 0), total)
        )
    return tuple(sheets)


def daily_figures(days: Sequence[DayBalance]) -> Mapping[str, tuple[DayFigures, ...]]:
    """By currency, each day in order."""
    return {
        currency: tuple(
            DayFigures(each.day, from_micros(each.debits), from_micros(each.credits), from_micros(each.closing))
            for each in days
            if each.currency == currency
        )
        for currency in sorted({each.currency for each in days})
    }


def entry_rows(entries: Sequence[AccountEntry]) -> tuple[EntryRow, ...]:
    """Debits on the left, credits on the right."""
    return tuple(
        EntryRow(
            each,
            from_micros(each.amount) if each.amount >= 0 else None,
            from_micros(-each.amount) if each.amount < 0 else None,
        )
        for each in entries
    )
