"""How finance corrects a settlement: never by editing, always by booking it back and, if wanted, anew."""

from typing import Annotated

from pydantic import Field

from aex_models.frozen import Frozen, ShortText, StrictInt
from aex_models.money import Money


class Replacement(Frozen):
    """What a contract shall cost instead. base + bonus − penalty must not be below 0."""

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
