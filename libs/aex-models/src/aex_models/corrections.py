"""Corrections of settlements: reversals, replacements, and the figures behind the postings."""

from typing import Annotated

from pydantic import Field

from aex_models.frozen import Frozen, ShortText, StrictInt
from aex_models.money import Money


class Replacement(Frozen):
    """A contract's new cost. base + bonus − penalty must not be below 0."""

    base: Money
    bonus: Money
    penalty: Money


class ReversalRequest(Frozen):
    """A reversal, as finance sends it."""

    reason: ShortText
    replacement: Replacement | None = None
    """Booked as the next revision; without it the contract costs nothing any more."""
    revision: Annotated[StrictInt, Field(ge=1)] | None = None
    """The revision that is meant: where another one stands by then, nothing is booked (409)."""


class Booking(Frozen):
    """A posted revision of a contract's cost. Every figure of a reversal is negative.

    It is part of the ledger transaction, so that projections need no other source. Amounts are signed micros;
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
    """The same where the outcome succeeded, otherwise 0."""
    cpc: StrictInt
    cpa_bonus: StrictInt
    cpa_penalty: StrictInt
    total: StrictInt
    fee: StrictInt
    bonus_capped: StrictInt = 0
    penalty_waived: StrictInt = 0
