"""What the books count of a settlement or of its reversal: the figures behind the postings."""

from pydantic import Field

from aex_models.frozen import Frozen, StrictInt


class Booking(Frozen):
    """One revision of a contract's cost as it is booked, or taken back: then every figure is negative.

    It is part of the ledger transaction, so that whatever is projected from the ledger needs nothing else. Amounts in
    signed micros; cpc + cpa_bonus − cpa_penalty = total.
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
