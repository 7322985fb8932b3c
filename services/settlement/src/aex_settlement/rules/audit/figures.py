"""What the projections must hold, as figures made from the journal, and what they do hold, in the same form. Pure.

Made without the code that makes the projections: a recount that shares it would share its mistakes.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import compress, product
from typing import NamedTuple

from aex_models.canonical import sha256_hex
from aex_models.settlement import LedgerTransaction
from aex_settlement.rules.audit.tally import Name
from aex_settlement.rules.journal import JournalBatch
from aex_settlement.rules.projected import Balance, DayBalance, DaySums, Rollup, Sheet, day_of
from aex_settlement.rules.rollups import DIMENSIONS, view_of

_MASKS = tuple(
    (view_of(tuple(compress(DIMENSIONS, mask))), mask) for mask in product((False, True), repeat=len(DIMENSIONS))
)


class Kind(StrEnum):
    """The records that a projection is made of."""

    BALANCE = "balance"
    SHEET = "sheet"
    DAY = "day"
    ROLLUP = "rollup"


class _Line(NamedTuple):
    """One posting, as a sheet has it."""

    amount: int
    transaction_id: str
    contract_id: str | None
    kind: str
    occurred_at: str
    reason: str


class Figure(NamedTuple):
    """Some sums of one record. All figures of one name add up to what the record holds."""

    kind: Kind
    where: tuple[str | int | None, ...]
    """Which record: what its key is made from, beside the generation."""
    which: tuple[str | int, ...]
    """Which of the record's sums, where it has several."""
    values: tuple[int, ...]

    @property
    def name(self) -> Name:
        """What a tally adds it up under."""
        return (self.kind.value, *self.where, *self.which)


class Accounts(dict[tuple[str, str], tuple[int, int, str]]):
    """By account and currency: what it holds, the last batch that posted to it, and the day of that."""


def account_figures(
    accounts: Accounts, batch: JournalBatch, transactions: Sequence[LedgerTransaction]
) -> Iterator[Figure]:
    """What a batch adds to balances, sheets and days; `accounts` is where the batches before it led, and moves on."""
    day, lines = day_of(batch.sealed_at), dict[tuple[str, str], list[_Line]]()
    for transaction in transactions:
        for posting in transaction.postings:
            line = _line(transaction, posting.amount)
            lines.setdefault((posting.account, posting.currency), []).append(line)
    for place, posted in lines.items():
        amounts = [line.amount for line in posted]
        opening, last, last_day = accounts.get(place, (0, 0, ""))
        closing = opening + sum(amounts)
        accounts[place] = (closing, batch.seq, day)
        yield Figure(Kind.BALANCE, place, (), (closing - opening, batch.seq - last))
        debits, credits_ = sum(a for a in amounts if a > 0), -sum(a for a in amounts if a < 0)
        yield Figure(Kind.DAY, (*place, day), (), (debits, credits_, closing - (opening if last_day == day else 0)))
        yield _sheet(place, batch.seq, batch.sealed_at.isoformat(), opening, closing, posted)


def _line(transaction: LedgerTransaction, amount: int) -> _Line:
    occurred_at = transaction.occurred_at.isoformat()
    return _Line(
        amount, transaction.id, transaction.contract_id, transaction.kind.value, occurred_at, transaction.reason
    )


def _sheet(
    place: tuple[str, str], seq: int, sealed_at: str, opening: int, closing: int, lines: Sequence[_Line]
) -> Figure:
    content = sha256_hex(repr((sealed_at, opening, closing, list(map(tuple, lines)))).encode("utf-8", "surrogatepass"))
    return Figure(Kind.SHEET, (*place, seq), (content,), (1,))


def rollup_figures(transactions: Sequence[LedgerTransaction]) -> Iterator[Figure]:
    """What the bookings among these transactions add to the days of their groups, in every view."""
    cells: dict[tuple[str, str, str, str, str], list[int]] = {}
    for transaction in transactions:
        booking = transaction.booking
        if booking is not None:
            cell = (
                booking.agent_id,
                booking.consumer_id,
                booking.domain,
                transaction.postings[0].currency,
                day_of(transaction.occurred_at),
            )
            sums = cells.setdefault(cell, [0] * 6)
            for at, value in enumerate(
                (
                    booking.count,
                    booking.success_count,
                    booking.cpc,
                    booking.cpa_bonus,
                    booking.cpa_penalty,
                    booking.total,
                )
            ):
                sums[at] += value
    for (agent, consumer, domain, currency, day), sums in cells.items():
        for view, (by_agent, by_consumer, by_domain) in _MASKS:
            group = (agent if by_agent else None, consumer if by_consumer else None, domain if by_domain else None)
            yield Figure(Kind.ROLLUP, (view, *group, currency, day[:7]), (day,), tuple(sums))


def stored_figures(record: Balance | Sheet | DayBalance | Rollup) -> Iterator[Figure]:
    """What a projected record holds."""
    if isinstance(record, Rollup):
        where = (record.view, record.agent, record.consumer, record.domain, record.currency, record.month)
        for sums in record.days:
            yield Figure(Kind.ROLLUP, where, (sums.day,), _six(sums))
        return
    place = (record.account, record.currency)
    if isinstance(record, Balance):
        yield Figure(Kind.BALANCE, place, (), (record.balance, record.seq))
    elif isinstance(record, DayBalance):
        yield Figure(Kind.DAY, (*place, record.day), (), (record.debits, record.credits, record.closing))
    else:
        lines = [
            _Line(
                line.amount,
                line.transaction_id,
                line.contract_id,
                line.kind.value,
                line.occurred_at.isoformat(),
                line.reason,
            )
            for line in record.lines
        ]
        yield _sheet(place, record.seq, record.sealed_at.isoformat(), record.opening, record.closing, lines)


def _six(sums: DaySums) -> tuple[int, ...]:
    return (sums.booked, sums.succeeded, sums.cpc, sums.cpa_bonus, sums.cpa_penalty, sums.total)


def told(name: Name) -> str:
    """A record's name in words: `rollup agent=bot, USD 2025-03-01`."""
    kind, *parts = name
    if kind == Kind.ROLLUP:
        view, agent, consumer, domain, currency, _, day = parts
        group = ", ".join(
            f"{dimension}={value}"
            for dimension, value in zip(DIMENSIONS, (agent, consumer, domain), strict=True)
            if dimension in str(view).split("+")
        )
        return f"rollup {group or 'of all'}, {currency} {day}"
    account, currency, *rest = parts
    if kind == Kind.SHEET:
        return f"sheet of {account} {currency}, batch {rest[0]}"
    return f"{kind} of {account} {currency}" + (f", {rest[0]}" if rest else "")
