"""Sums for the audit of projections: those that follow from the journal, and those stored.

The code is independent of the code that builds the projections, so that they do not share mistakes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from hashlib import blake2b
from itertools import compress, product
from struct import unpack
from typing import NamedTuple

from aex_models.canonical import sha256_hex
from aex_models.settlement import LedgerTransaction
from aex_settlement.rules.journal import JournalBatch
from aex_settlement.rules.projections import AccountPage, Balance, DayBalance, PageEntry, Rollup, day_of
from aex_settlement.rules.rollups import DIMENSIONS, view_name

Name = tuple[str | int | None, ...]
BUCKETS = 4096
_MAX_PENDING = 20_000
_PRIME = (1 << 61) - 1
_WIDTH = 6
"""Largest number of sums under one name."""


def _draw(key: bytes, name: Name) -> tuple[int, ...]:
    """Return the bucket of a name, and the random coefficients of its sums; both follow from the key."""
    size = _WIDTH + 1
    drawn = unpack(f"<{size}Q", blake2b(repr(name).encode(), digest_size=8 * size, key=key).digest())
    return drawn[0] % BUCKETS, *drawn[1:]


class BucketSums:
    """Sums by name in bounded memory, to detect whether additions and subtractions cancel out.

    Names are distributed over buckets. A bucket holds the sum of values × a random coefficient of their name, modulo
    2⁶¹ − 1. If any of its sums is not zero, the bucket is zero only with probability 2⁻⁶¹. A writer without the key
    cannot choose values that hide a difference.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._pending: dict[Name, list[int]] = {}
        self._buckets = [0] * BUCKETS

    def add(self, name: Name, values: Sequence[int], sign: int = 1) -> None:
        """Add up to six sums to those of a name; `sign` −1 subtracts them."""
        _add_values(self._pending, name, values, sign)
        if len(self._pending) > _MAX_PENDING:
            self._fold()

    def find_nonzero_buckets(self) -> list[int]:
        """Return the indexes of the buckets that are not zero, in which some name's sums do not cancel out."""
        self._fold()
        return [index for index, total in enumerate(self._buckets) if total]

    def _fold(self) -> None:
        for name, sums in self._pending.items():
            if any(sums):
                bucket, *coefficients = _draw(self._key, name)
                folded = sum(value * each for value, each in zip(sums, coefficients, strict=False))
                self._buckets[bucket] = (self._buckets[bucket] + folded) % _PRIME
        self._pending.clear()


class NamedSums:
    """Sums by name, kept only for the names in a few buckets.

    A first pass with `BucketSums` finds the buckets that differ, and a second pass with this class the names in them.
    """

    def __init__(self, key: bytes, buckets: Iterable[int]) -> None:
        self._key = key
        self._selected = frozenset(buckets)
        self._sums: dict[Name, list[int]] = {}

    def add(self, name: Name, values: Sequence[int], sign: int = 1) -> None:
        """Add sums to those of a name if it belongs to the buckets; `sign` −1 subtracts them."""
        if name in self._sums or _draw(self._key, name)[0] in self._selected:
            _add_values(self._sums, name, values, sign)

    def nonzero_sums(self) -> Mapping[Name, tuple[int, ...]]:
        """Return the sums of each name that are not all zero."""
        return {name: tuple(sums) for name, sums in self._sums.items() if any(sums)}


def _add_values(total: dict[Name, list[int]], name: Name, values: Sequence[int], sign: int) -> None:
    sums = total.get(name)
    if sums is None:
        total[name] = [sign * value for value in values]
        return
    for index, value in enumerate(values):
        sums[index] += sign * value


_MASKS = tuple(
    (view_name(tuple(compress(DIMENSIONS, mask))), mask) for mask in product((False, True), repeat=len(DIMENSIONS))
)


class RecordKind(StrEnum):
    """Kinds of projection records, by the words that findings use."""

    BALANCE = "balance"
    PAGE = "sheet"
    DAY = "day"
    ROLLUP = "rollup"


class _Entry(NamedTuple):
    amount: int
    transaction_id: str
    contract_id: str | None
    kind: str
    occurred_at: str
    reason: str


class Figure(NamedTuple):
    """Sums that belong to one projection record. All sums of one name add up to the stored record."""

    kind: RecordKind
    identity: tuple[str | int | None, ...]
    """Parts of the record's key without the generation."""
    part: tuple[str | int, ...]
    """Name of these sums within the record, if it has several."""
    values: tuple[int, ...]

    @property
    def name(self) -> Name:
        """Return the name under which the sums are added."""
        return (self.kind.value, *self.identity, *self.part)


AccountTotals = dict[tuple[str, str], tuple[int, int, str]]
"""Balance, last batch and its day, by account and currency."""


def compute_account_figures_and_update_totals(
    totals: AccountTotals, batch: JournalBatch, transactions: Sequence[LedgerTransaction]
) -> Iterator[Figure]:
    """Yield the sums that a batch adds to account records, and update `totals` with the batch.

    `totals` are the totals of all accounts before the batch.
    """
    day, entries = day_of(batch.sealed_at), dict[tuple[str, str], list[_Entry]]()
    for transaction in transactions:
        for posting in transaction.postings:
            entry = _entry(transaction, posting.amount, transaction.id)
            entries.setdefault((posting.account, posting.currency), []).append(entry)
    for account, posted in entries.items():
        amounts = [entry.amount for entry in posted]
        opening, last, last_day = totals.get(account, (0, 0, ""))
        closing = opening + sum(amounts)
        totals[account] = (closing, batch.seq, day)
        yield Figure(RecordKind.BALANCE, account, (), (closing - opening, batch.seq - last))
        debits, credits_ = sum(a for a in amounts if a > 0), -sum(a for a in amounts if a < 0)
        change = closing - (opening if last_day == day else 0)
        yield Figure(RecordKind.DAY, (*account, day), (), (debits, credits_, change))
        yield _page_figure((*account, batch.seq), batch.sealed_at.isoformat(), opening, closing, posted)


def _entry(record: LedgerTransaction | PageEntry, amount: int, transaction_id: str) -> _Entry:
    return _Entry(
        amount, transaction_id, record.contract_id, record.kind.value, record.occurred_at.isoformat(), record.reason
    )


def _page_figure(
    identity: tuple[str, str, int], sealed_at: str, opening: int, closing: int, entries: Sequence[_Entry]
) -> Figure:
    content = repr((sealed_at, opening, closing, list(map(tuple, entries)))).encode("utf-8", "surrogatepass")
    return Figure(RecordKind.PAGE, identity, (sha256_hex(content),), (1,))


def compute_rollup_figures(transactions: Sequence[LedgerTransaction]) -> Iterator[Figure]:
    """Yield the sums that settlements and reversals add to the rollups of every view."""
    cells: dict[Name, list[int]] = {}
    for transaction in transactions:
        booking = transaction.booking
        if booking is None:
            continue
        parties = (booking.agent_id, booking.consumer_id, booking.domain)
        cell = (*parties, transaction.postings[0].currency, day_of(transaction.occurred_at))
        amounts = (booking.cpc, booking.cpa_bonus, booking.cpa_penalty, booking.total)
        _add_values(cells, cell, (booking.count, booking.success_count, *amounts), 1)
    for (agent, consumer, domain, currency, day), sums in cells.items():
        for view, (by_agent, by_consumer, by_domain) in _MASKS:
            group = (agent if by_agent else None, consumer if by_consumer else None, domain if by_domain else None)
            identity = (view, *group, currency, str(day)[:7])
            yield Figure(RecordKind.ROLLUP, identity, (str(day),), tuple(sums))


def extract_figures(record: Balance | AccountPage | DayBalance | Rollup) -> Iterator[Figure]:
    """Yield the sums that a stored record holds."""
    if isinstance(record, Rollup):
        identity = (record.view, record.agent, record.consumer, record.domain, record.currency, record.month)
        for day, *sums in record.days:
            yield Figure(RecordKind.ROLLUP, identity, (str(day),), tuple(map(int, sums)))
        return
    account = (record.account, record.currency)
    if isinstance(record, Balance):
        yield Figure(RecordKind.BALANCE, account, (), (record.balance, record.seq))
    elif isinstance(record, DayBalance):
        yield Figure(RecordKind.DAY, (*account, record.day), (), (record.debits, record.credits, record.closing))
    else:
        entries = [_entry(line, line.amount, line.transaction_id) for line in record.lines]
        sealed_at = record.sealed_at.isoformat()
        yield _page_figure((*account, record.seq), sealed_at, record.opening, record.closing, entries)


def describe_record(name: Name) -> str:
    """Return a record's name as text, such as `rollup agent=bot, USD 2025-03-01`."""
    kind, *parts = name
    if kind == RecordKind.ROLLUP:
        view, agent, consumer, domain, currency, _, day = parts
        group = ", ".join(
            f"{dimension}={value}"
            for dimension, value in zip(DIMENSIONS, (agent, consumer, domain), strict=True)
            if dimension in str(view).split("+")
        )
        return f"rollup {group or 'of all'}, {currency} {day}"
    account, currency, *rest = parts
    if kind == RecordKind.PAGE:
        return f"{kind} of {account} {currency}, batch {rest[0]}"
    return f"{kind} of {account} {currency}" + (f", {rest[0]}" if rest else "")
