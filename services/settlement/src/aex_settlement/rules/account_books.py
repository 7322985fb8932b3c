"""Account projections: the balances, pages and daily closing balances that sealed batches post. Pure."""

from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from aex_models.money import from_micros
from aex_models.settlement import AccountEntry, LedgerTransaction
from aex_settlement.rules.journal import JournalBatch
from aex_settlement.rules.projections import AccountPage, Balance, DayBalance, PageEntry, day_of


class AccountKey(NamedTuple):
    """An account in one of its currencies."""

    account: str
    currency: str


class DayKey(NamedTuple):
    """An account in one of its currencies on one UTC day (of sealing)."""

    account: str
    currency: str
    day: str


class SealedBatch(NamedTuple):
    """A batch of the journal with the transactions that it seals, in its order."""

    batch: JournalBatch
    transactions: Sequence[LedgerTransaction]


def account_keys(transactions: Iterable[LedgerTransaction]) -> set[AccountKey]:
    return {AccountKey(posting.account, posting.currency) for each in transactions for posting in each.postings}


def day_keys(batch: SealedBatch) -> set[DayKey]:
    day = day_of(batch.batch.sealed_at)
    return {DayKey(account, currency, day) for account, currency in account_keys(batch.transactions)}


@dataclass(slots=True)
class AccountUpdates:
    """Posts batches in their order to accounts.

    Starts with the stored balances and days that these batches change.
    """

    generation: str
    balances: dict[AccountKey, Balance]
    days: dict[DayKey, DayBalance]
    pages: list[AccountPage] = field(default_factory=list)

    def post(self, batch: SealedBatch) -> None:
        """Post a batch, which follows the one before."""
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
    """An entry's position, equal in every generation. Newer is greater."""

    seq: int
    currency: str
    line: int

    @property
    def cursor(self) -> tuple[int, str]:
        """Return the position as that of a paged listing."""
        return self.seq, f"{self.currency}:{self.line}"

    @classmethod
    def parse(cls, cursor: tuple[str | int | None, str]) -> "EntryPosition":
        currency, _, line = cursor[1].partition(":")
        return cls(int(cursor[0] or 0), currency, int(line))


def page_entries(page: AccountPage) -> Iterator[tuple[EntryPosition, AccountEntry]]:
    """Yield a page's entries from last to first; amounts in micros, balances as money."""
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


async def read_entries(
    pages: AsyncIterable[AccountPage], before: EntryPosition | None
) -> AsyncGenerator[tuple[EntryPosition, AccountEntry], None]:
    """Yield the entries of pages that come newest first; only those before a position if one is given."""
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
        for position, entry in page_entries(page):
            if before is None or position < before:
                yield position, entry
