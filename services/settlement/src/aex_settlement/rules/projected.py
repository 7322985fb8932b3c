"""What the projections of the journal hold. Each can be made anew from the batches, and equals a full recount.

Every record belongs to a `generation`: a rebuild writes a new one beside the one that is read, then changes over.
"""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from pydantic import Field

from aex_models.frozen import Frozen, Instant, StrictInt
from aex_models.money import Currency
from aex_models.settlement import TransactionKind
from aex_settlement.rules.sums import SumMicros


class Projection(StrEnum):
    """The projections, each with a watermark of its own."""

    ACCOUNTS = "accounts"
    """Balances, account sheets and closing balances by day."""
    ROLLUPS = "rollups"
    """Settlements by group and month, with a sum for each day."""


class ProjectionState(Frozen):
    """How far a projection is, and which generation is read. Moves in the transaction that applies a batch."""

    projection: Projection
    generation: str
    seq: StrictInt = Field(ge=0)
    """The watermark: the last batch that is applied."""
    sealed_at: Instant | None = None
    """Of that batch; None before the first."""


class Generation(Frozen):
    """A generation that was begun: what is not read any more is found here and removed."""

    projection: Projection
    generation: str
    begun_at: Instant


class DaySums(NamedTuple):
    """The sums of one group on one UTC day; amounts in micros."""

    day: str
    """Such as 2025-01-31."""
    booked: int
    """Settlements less reversals."""
    succeeded: int
    """Those of successful outcomes, likewise."""
    cpc: SumMicros
    cpa_bonus: SumMicros
    cpa_penalty: SumMicros
    total: SumMicros


class Rollup(Frozen):
    """One group's month. `view` names the dimensions that are kept apart; the others are None."""

    generation: str
    view: str
    """Such as `agent+consumer`; empty for all settlements together. See `rules.rollups.VIEWS`."""
    agent: str | None = None
    consumer: str | None = None
    domain: str | None = None
    currency: Currency
    month: str
    """Such as 2025-01: of the bookings, UTC."""
    days: tuple[DaySums, ...]
    """Those with bookings, by day."""


class Balance(Frozen):
    """What an account holds in one currency, at the watermark."""

    generation: str
    account: str
    currency: Currency
    balance: SumMicros
    seq: StrictInt
    """The last batch that posted here."""


class SheetLine(Frozen):
    """One posting on a sheet."""

    transaction_id: str
    contract_id: str | None = None
    kind: TransactionKind
    amount: StrictInt
    occurred_at: Instant
    reason: str = ""


class Sheet(Frozen):
    """What one batch posted to one account in one currency: a page of the account's book."""

    generation: str
    account: str
    currency: Currency
    seq: StrictInt
    sealed_at: Instant
    opening: SumMicros
    closing: SumMicros
    lines: tuple[SheetLine, ...]
    """In the order of the batch."""


class DayBalance(Frozen):
    """The daily snapshot of an account: what it held at the end of a UTC day (of sealing) on which it was posted to."""

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
    """The UTC day of an instant, such as 2025-01-31. `moment` is in UTC."""
    return moment.strftime("%Y-%m-%d")
