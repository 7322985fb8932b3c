"""Account projection: balances, account pages and daily balances that follow from sealed batches."""

from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from aex_models.money import from_micros
from aex_models.settlement import AccountEntry, LedgerTransaction
from aex_settlement.rules.journal import JournalBatch
from aex_settlement.rules.projections import AccountPage, Balance, DayBalance, PageEntry, day_of


class AccountKey(NamedTuple):
    """Account and one of its currencies."""

    account: str
    currency: str


class DayKey(NamedTuple):
    """Account, one of its currencies, and the UTC day on which batches were sealed."""

    account: str
    currency: str
    day: str


class SealedBatch(NamedTuple):
    """Batch of the journal with the transactions that it seals, in its order."""

    batch: JournalBatch
    transactions: Sequence[LedgerTransaction]


def collect_account_keys(transactions: Iterable[LedgerTransaction]) -> set[AccountKey]:
    """Return the accounts and currencies to which the transactions post."""
    return {AccountKey(posting.account, posting.currency) for each in transactions for posting in each.postings}


def collect_sealing_day_keys(batch: SealedBatch) -> set[DayKey]:
    """Return the accounts and currencies to which the batch posts, with its day of sealing."""
    day = day_of(batch.batch.sealed_at)
    return {DayKey(account, currency, day) for account, currency in collect_account_keys(batch.transactions)}


@dataclass(slots=True)
class AccountUpdates:
    """Balances, pages and days of accounts, updated batch by batch.

    `balances` and `days` begin with the stored records that the batches change; `pages` are the new account pages.
    """

    generation: str
    balances: dict[AccountKey, Balance]
    days: dict[DayKey, DayBalance]
    pages: list[AccountPage] = field(default_factory=list)

    def post_batch(self, batch: SealedBatch) -> None:
        """Post the next batch: update balances and days, and add a page for each account."""
        for key, entries in _entries_by_account(batch.transactions).items():
            before = self.balances.get(key)
            opening = before.balance if before else 0
            closing = opening + sum(entry.amount for entry in entries)
            account, currency = key
            self.balances[key] = Balance(
                generation=self.generation, account=account, currency=currency, balance=closing, seq=batch.batch.seq
            )
            page = AccountPage(
                generation=self.generation,
                account=account,
                currency=currency,
                seq=batch.batch.seq,
                sealed_at=batch.batch.sealed_at,
                opening=opening,
                closing=closing,
                lines=tuple(entries),
            )
            self.pages.append(page)
            day = DayKey(account, currency, day_of(batch.batch.sealed_at))
            self.days[day] = _day_balance(self.generation, day, self.days.get(day), entries, closing)


def _day_balance(
    generation: str, key: DayKey, before: DayBalance | None, entries: Sequence[PageEntry], closing: int
) -> DayBalance:
    return DayBalance(
        generation=generation,
        account=key.account,
        currency=key.currency,
        day=key.day,
        debits=(before.debits if before else 0) + sum(entry.amount for entry in entries if entry.amount > 0),
        credits=(before.credits if before else 0) - sum(entry.amount for entry in entries if entry.amount < 0),
        closing=closing,
    )


def _entries_by_account(transactions: Iterable[LedgerTransaction]) -> Mapping[AccountKey, Sequence[PageEntry]]:
    entries: dict[AccountKey, list[PageEntry]] = {}
    for each in transactions:
        for posting in each.postings:
            entry = PageEntry(
                transaction_id=each.id,
                contract_id=each.contract_id,
                kind=each.kind,
                amount=posting.amount,
                occurred_at=each.occurred_at,
                reason=each.reason,
            )
            entries.setdefault(AccountKey(posting.account, posting.currency), []).append(entry)
    return entries


class EntryPosition(NamedTuple):
    """Position of an entry in its account, the same in every generation; greater for newer ones."""

    seq: int
    currency: str
    line: int

    @property
    def cursor(self) -> tuple[int, str]:
        """Return the position as the cursor of a paged listing."""
        return self.seq, f"{self.currency}:{self.line}"

    @classmethod
    def from_cursor(cls, cursor: tuple[str | int | None, str]) -> "EntryPosition":
        """Return the position from the cursor of a paged listing."""
        currency, _, line = cursor[1].partition(":")
        return cls(int(cursor[0] or 0), currency, int(line))


def iterate_page_entries_backwards(page: AccountPage) -> Iterator[tuple[EntryPosition, AccountEntry]]:
    """Yield a page's entries with their positions, from last to first.

    The amount of an entry is in micros. Its `balance` is that of the account after the entry, as a decimal amount.
    """
    balance = page.closing
    for number in range(len(page.lines) - 1, -1, -1):
        line = page.lines[number]
        entry = AccountEntry(
            transaction_id=line.transaction_id,
            contract_id=line.contract_id,
            kind=line.kind,
            account=page.account,
            amount=line.amount,
            currency=page.currency,
            occurred_at=line.occurred_at,
            reason=line.reason,
            balance=from_micros(balance),
        )
        yield EntryPosition(page.seq, page.currency, number), entry
        balance -= line.amount


async def iterate_entries_newest_first(
    pages: AsyncIterable[AccountPage], before: EntryPosition | None
) -> AsyncGenerator[tuple[EntryPosition, AccountEntry], None]:
    """Yield the entries of an account's pages with their positions, newest first.

    `pages` come newest first. With `before`, only entries at earlier positions are yielded.
    """
    of_batch: list[AccountPage] = []
    async for page in pages:
        if of_batch and of_batch[0].seq != page.seq:
            for entry in _batch_entries(of_batch, before):
                yield entry
            of_batch = []
        of_batch.append(page)
    for entry in _batch_entries(of_batch, before):
        yield entry


def _batch_entries(
    pages: Sequence[AccountPage], before: EntryPosition | None
) -> Iterator[tuple[EntryPosition, AccountEntry]]:
    """Yield the entries of one batch, whose pages differ in currency."""
    for page in sorted(pages, key=lambda page: page.currency, reverse=True):
        for position, entry in iterate_page_entries_backwards(page):
            if before is None or position < before:
                yield position, entry
