"""The accounts' books: what sealed batches post to balances, to sheets and to the closing balances by day. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from aex_models.settlement import LedgerTransaction, Posting
from aex_settlement.rules.journal import JournalBatch
from aex_settlement.rules.projected import Balance, DayBalance, Sheet, SheetLine, day_of


class Place(NamedTuple):
    """An account in one of its currencies."""

    account: str
    currency: str


class DayPlace(NamedTuple):
    """The same on one UTC day (of sealing)."""

    account: str
    currency: str
    day: str


class Page(NamedTuple):
    """A batch of the journal with the transactions that it seals, in its order."""

    batch: JournalBatch
    transactions: Sequence[LedgerTransaction]


def places_of(transactions: Iterable[LedgerTransaction]) -> set[Place]:
    """Where these transactions post."""
    return {Place(posting.account, posting.currency) for each in transactions for posting in each.postings}


def day_places_of(page: Page) -> set[DayPlace]:
    """The days that a batch posts to."""
    day = day_of(page.batch.sealed_at)
    return {DayPlace(account, currency, day) for account, currency in places_of(page.transactions)}


@dataclass(slots=True)
class Books:
    """Posts batches, one after the other, to what the books of their accounts held before.

    Begin with the balances and the days that these batches post to, as far as there are any.
    """

    generation: str
    balances: dict[Place, Balance]
    days: dict[DayPlace, DayBalance]
    sheets: list[Sheet] = field(default_factory=list)
    """Those that were filled."""

    def post(self, page: Page) -> None:
        """Post all of a batch. It follows the one before."""
        for place, lines in _lines_by_place(page.transactions).items():
            seen = self.balances.get(place)
            opening = seen.balance if seen else 0
            closing = opening + sum(line.amount for line in lines)
            self._turn(page.batch, place, lines, opening, closing)

    def _turn(self, batch: JournalBatch, place: Place, lines: Sequence[SheetLine], opening: int, closing: int) -> None:
        account, currency = place
        self.balances[place] = Balance(
            generation=self.generation, account=account, currency=currency, balance=closing, seq=batch.seq
        )
        self.sheets.append(
            Sheet(
                generation=self.generation,
                account=account,
                currency=currency,
                seq=batch.seq,
                sealed_at=batch.sealed_at,
                opening=opening,
                closing=closing,
                lines=tuple(lines),
            )
        )
        day = DayPlace(account, currency, day_of(batch.sealed_at))
        self.days[day] = _day(self.generation, day, self.days.get(day), lines, closing)


def _day(
    generation: str, place: DayPlace, seen: DayBalance | None, lines: Sequence[SheetLine], closing: int
) -> DayBalance:
    return DayBalance(
        generation=generation,
        account=place.account,
        currency=place.currency,
        day=place.day,
        debits=(seen.debits if seen else 0) + sum(line.amount for line in lines if line.amount > 0),
        credits=(seen.credits if seen else 0) - sum(line.amount for line in lines if line.amount < 0),
        closing=closing,
    )


def _lines_by_place(transactions: Iterable[LedgerTransaction]) -> Mapping[Place, Sequence[SheetLine]]:
    lines: dict[Place, list[SheetLine]] = {}
    for transaction in transactions:
        for posting in transaction.postings:
            lines.setdefault(Place(posting.account, posting.currency), []).append(_line(transaction, posting))
    return lines


def _line(transaction: LedgerTransaction, posting: Posting) -> SheetLine:
    return SheetLine(
        transaction_id=transaction.id,
        contract_id=transaction.contract_id,
        kind=transaction.kind,
        amount=posting.amount,
        occurred_at=transaction.occurred_at,
        reason=transaction.reason,
    )
