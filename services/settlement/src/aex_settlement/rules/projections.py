"""Records of the journal's projections, and UTC days.

Each record belongs to a generation, one full build of a projection. A rebuild fills a new generation, then readers
switch to it.
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
"""Amount in signed micros of any size; text in JSON, whose integers are exact only up to 2⁵³."""


class Projection(StrEnum):
    """Names of the journal's projections. Each projection has its own watermark."""

    ACCOUNTS = "accounts"
    """Balances, account pages, and balances by day."""
    ROLLUPS = "rollups"
    """Sums of settlements by group and month, with a sum for each day."""


class ProjectionState(Frozen):
    """Watermark and generation of a projection, updated in the transaction that applies batches."""

    projection: Projection
    generation: str
    seq: StrictInt = Field(ge=0)
    """Watermark: number of the last batch applied."""
    sealed_at: Instant | None = None
    """Time of sealing of that batch; None before the first."""


class Generation(Frozen):
    """Record of a generation that a rebuild began or replaced, so that a later rebuild can delete it."""

    projection: Projection
    generation: str
    begun_at: Instant


class DaySums(NamedTuple):
    """Sums of one group on one UTC day; amounts in micros."""

    day: str
    """ISO date, such as 2025-01-31."""
    settlements: int
    """Settlements less reversals."""
    successes: int
    """Settlements of successful outcomes, less their reversals."""
    cpc: SumMicros
    cpa_bonus: SumMicros
    cpa_penalty: SumMicros
    total: SumMicros


class Rollup(Frozen):
    """Sums of a group of settlements in one month; dimensions by which `view` does not group are None."""

    generation: str
    view: str
    """Dimensions of the group, such as `agent+consumer`; empty for all settlements. See `rules.rollups.VIEWS`."""
    agent: str | None = None
    consumer: str | None = None
    domain: str | None = None
    currency: Currency
    month: str
    """UTC month of the ledger transactions, such as 2025-01."""
    days: tuple[DaySums, ...]
    """Days that have ledger transactions, in order."""


class Balance(Frozen):
    """Balance of an account in one currency at the watermark."""

    generation: str
    account: str
    currency: Currency
    balance: SumMicros
    seq: StrictInt
    """Last batch that posted to the account."""


class PageEntry(Frozen):
    """Posting as an account page holds it; `amount` in micros."""

    transaction_id: str
    contract_id: str | None = None
    kind: TransactionKind
    amount: StrictInt
    occurred_at: Instant
    reason: str = ""


class AccountPage(Frozen):
    """Entries that one batch posted to one account in one currency, with the balances around them."""

    generation: str
    account: str
    currency: Currency
    seq: StrictInt
    sealed_at: Instant
    opening: SumMicros
    closing: SumMicros
    lines: tuple[PageEntry, ...]
    """Entries in the order of the batch."""


class DayBalance(Frozen):
    """Debits, credits and closing balance of an account on one UTC day of sealing."""

    generation: str
    account: str
    currency: Currency
    day: str
    debits: SumMicros
    """Sum of the day's positive postings."""
    credits: SumMicros
    """Sum of the day's negative postings, as a positive number."""
    closing: SumMicros


def day_of(instant: datetime) -> str:
    """Return the UTC day of an instant, such as 2025-01-31."""
    return instant.strftime("%Y-%m-%d")


@dataclass(frozen=True, slots=True)
class DaySpan:
    """Range of UTC days such as 2025-01-31, both included; None means no limit."""

    first: str | None = None
    last: str | None = None

    def contains(self, day: str) -> bool:
        """Return whether the day is in the range."""
        return (self.first is None or day >= self.first) and (self.last is None or day <= self.last)


def next_even_micros(now: int) -> int:
    """Return the smallest even number of microseconds after `now`.

    A period that ends there contains both or none of the transactions of a correction; see `choose_reversal_time`.
    """
    return now + 2 - now % 2


def parse_days(first: str | None, last: str | None) -> DaySpan:
    """Return the range of UTC days from `first` to `last`, both included. Raises `InvalidRequest`."""
    parse_period(first, last)
    return DaySpan(first, last)
