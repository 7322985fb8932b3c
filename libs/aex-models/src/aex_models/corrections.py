"""Corrections of settlements: reversals, replacement costs, and the figures of each posted revision."""

from typing import Annotated

from pydantic import Field

from aex_models.frozen import Frozen, ShortText, StrictInt
from aex_models.money import Money


class Replacement(Frozen):
    """The new cost of a contract after a reversal. base + bonus − penalty must be at least 0."""

    base: Money
    bonus: Money
    penalty: Money


class ReversalRequest(Frozen):
    """A request by finance to reverse a settlement."""

    reason: ShortText
    replacement: Replacement | None = None
    """Cost to post as the next revision; without it the contract's cost becomes 0."""
    revision: Annotated[StrictInt, Field(ge=1)] | None = None
    """The revision to reverse. If another one is current, nothing is posted and the answer is 409."""


class Booking(Frozen):
    """A posted revision of a contract's cost. A reversal has the negated figures of the reversed one.

    Ledger transactions contain bookings, so projections need no other source. Amounts are signed micros;
    cpc + cpa_bonus − cpa_penalty = total.
    """

    revision: int = Field(ge=1)
    work_id: str
    agent_id: str
    consumer_id: str
    domain: str
    count: StrictInt
    """1 for a settlement, −1 for a reversal."""
    success_count: StrictInt
    """Equal to `count` if the outcome succeeded, otherwise 0."""
    cpc: StrictInt
    cpa_bonus: StrictInt
    cpa_penalty: StrictInt
    total: StrictInt
    fee: StrictInt
    bonus_capped: StrictInt = 0
    penalty_waived: StrictInt = 0
