"""The records of the projections, and UTC days. Each projection can be rebuilt from the journal.

Every record belongs to a `generation`: a rebuild writes a new one beside the one that is read, then switches to it.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, NamedTuple

from pydantic import Field, PlainSerializer

from aex_models.frozen import Frozen, Instant, StrictInt
from aex_models.money import Currency
from aex_models.settlement import TransactionKind
from aex_runtime.periods import parse_period

SumMicros = Annotated[int, PlainSerializer(str, return_type=str, when_used="json")]
"""Signed micros of any size. Text in JSON, whose integers are exact up to 2⁵³ only."""


class Projection(StrEnum):
    """The projections, each with a watermark of its own."""

    ACCOUNTS = "accounts"
    """Balances, account pages and closing balances by day."""
    ROLLUPS = "rollups"
    """Settlements by group and month, with a sum for each day."""


class ProjectionState(Frozen):
    """A projection's watermark and generation; moves in the transaction that applies a batch."""

    projection: Projection
    generation: str
    seq: StrictInt = Field(ge=0)
    """The watermark: the last batch that is applied."""
    sealed_at: Instant | None = None
    """The instant of that batch; None before the first."""


class Generation(Frozen):
    """A generation that was begun: a rebuild finds here what it has to remove."""

    projection: Projection
    generation: str
    begun_at: Instant


class DaySums(NamedTuple):
    """The sums of one group on one UTC day; amounts in micros."""

    day: str
    """Day as an ISO date, such as 2025-01-31."""
    settlements: int
    """Settlements less reversals."""
    successes: int
    """Settlements of successful outcomes, less their reversals."""
    cpc: SumMicros
    cpa_bonus: SumMicros
    cpa_penalty: SumMicros
    total: SumMicros


class Rollup(Frozen):
    """A group's month. `view` names its dimensions; the others are None."""

    generation: str
    view: str
    """For example `agent+consumer`; empty for all settlements together. See `rules.rollups.VIEWS`."""
    agent: str | None = None
    consumer: str | None = None
    domain: str | None = None
    currency: Currency
    month: str
    """Month of the ledger transactions in UTC, such as 2025-01."""
    days: tuple[DaySums, ...]
    """Days with ledger transactions, in their order."""


class Balance(Frozen):
    """An account's balance in one currency at the watermark."""

    generation: str
    account: str
    currency: Currency
    balance: SumMicros
    seq: StrictInt
    """The last batch that posted here."""


class PageEntry(Frozen):
    """A posting on an account page."""

    transaction_id: str
    contract_id: str | None = None
    kind: TransactionKind
    amount: StrictInt
    occurred_at: Instant
    reason: str = ""


class AccountPage(Frozen):
    """The entries that one batch posted to one account in one currency."""

    generation: str
    account: str
    currency: Currency
    seq: StrictInt
    sealed_at: Instant
    opening: SumMicros
    closing: SumMicros
    lines: tuple[PageEntry, ...]
    """In the order of the batch."""


class DayBalance(Frozen):
    """An account's closing balance of a UTC day (of sealing) with postings."""

    generation: str
    account: str
    currency: Currency
    day: str
    debits: SumMicros
    """Sum of the day's positive postings."""
    credits: SumMicros
    """Sum of the day's negative postings, as a positive number."""
    closing: SumMicros


def day_of(moment: datetime) -> str:
    """Return the day of an instant in UTC, such as 2025-01-31."""
    return moment.strftime("%Y-%m-%d")


@dataclass(frozen=True, slots=True)
class DaySpan:
    """UTC days such as 2025-01-31, both included; None is without limit."""

    first: str | None = None
    last: str | None = None

    def contains(self, day: str) -> bool:
        return (self.first is None or day >= self.first) and (self.last is None or day <= self.last)


def even_end(now: int) -> int:
    """Return the end of a period that contains `now`: an even microsecond, which divides no correction."""
    return now + 2 - now % 2


def parse_days(first: str | None, last: str | None) -> DaySpan:
    """Return the UTC days from `first` to `last`, both included. Raises `InvalidRequest`."""
    parse_period(first, last)
    return DaySpan(first, last)
