"""Costs, settlements, and the double-entry ledger (spec file 6)."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, model_validator

from aex_models.frozen import Frozen, Instant, StrictInt
from aex_models.money import Currency, Money, SignedMoney
from aex_models.thresholds import ComparisonOperator
from aex_models.work import FeedbackLevel


class CostLine(Frozen):
    """One criterion and the gross amount that it brought, before caps and floor."""

    metric: str
    value: bool | float | int | None
    threshold: Any
    comparison: ComparisonOperator
    met: bool
    amount: SignedMoney
    """+ bonus earned, − penalty incurred, 0 otherwise."""
    secret: bool = False


class Breakdown(Frozen):
    """The parts of a total, under their trade names."""

    cpc: Money
    cpa_bonus: Money
    cpa_penalty: Money


class Cost(Frozen):
    """The cost of one outcome. base + bonus − penalty = total, always."""

    contract_id: str
    currency: Currency
    base: Money
    bonus: Money
    penalty: Money
    bonus_capped: Money
    """Bonus earned but taken away by the budget's cap."""
    penalty_waived: Money
    """Penalty incurred but taken away by the budget's cap or by the floor at 0."""
    fee: Money
    total: Money
    lines: tuple[CostLine, ...] = ()
    breakdown: Breakdown


class SettlementStatus(StrEnum):
    """Whether the settlement stands."""

    SETTLED = "settled"
    REVERSED = "reversed"


class SettlementRevision(Frozen):
    """One booking of a contract's cost."""

    revision: int
    cost: Cost
    settled_at: Instant
    reversed_at: Instant | None = None
    reason: str | None = None
    by: str | None = None


class Settlement(Frozen):
    """What one contract cost, and how it was booked."""

    contract_id: str
    work_id: str
    agent_id: str
    consumer_id: str
    domain: str
    success: bool
    status: SettlementStatus
    revision: int
    revisions: tuple[SettlementRevision, ...]
    cost: Cost
    disclosure: FeedbackLevel = FeedbackLevel.CRITERIA
    settled_at: Instant


class TransactionKind(StrEnum):
    """Why a ledger transaction was posted."""

    SETTLEMENT = "settlement"
    REVERSAL = "reversal"
    DEPOSIT = "deposit"
    ADJUSTMENT = "adjustment"


class Posting(Frozen):
    """One side of a ledger transaction."""

    account: Annotated[str, Field(min_length=1, max_length=160)]
    """`consumer:{id}`, `agent:{id}`, `platform:fees`, `platform:cash`."""
    amount: StrictInt
    """Signed micros: + debit, − credit."""
    currency: Currency


class LedgerTransaction(Frozen):
    """Postings that sum to zero in each currency. Never edited, never deleted."""

    id: str
    contract_id: str | None = None
    kind: TransactionKind
    postings: tuple[Posting, ...] = Field(min_length=2)
    occurred_at: Instant
    reason: str = ""
    by: str = ""

    @model_validator(mode="after")
    def _balances(self) -> "LedgerTransaction":
        sums: dict[str, int] = {}
        for posting in self.postings:
            sums[posting.currency] = sums.get(posting.currency, 0) + posting.amount
        if any(sums.values()):
            raise ValueError(f"postings do not sum to zero: {sums}")
        return self


class AccountBalance(Frozen):
    """What an account holds in one currency."""

    account: str
    currency: Currency
    balance: SignedMoney


class TrialBalance(Frozen):
    """All accounts at one instant. Sums to zero in each currency."""

    as_of: Instant
    complete_to: Instant
    accounts: tuple[AccountBalance, ...]


class BreakdownRow(Frozen):
    """One group of settlements. The keys that were not grouped by are None."""

    agent: str | None = None
    consumer: str | None = None
    domain: str | None = None
    day: str | None = None
    month: str | None = None
    currency: Currency
    count: int
    success_count: int
    cpc: SignedMoney
    cpa_bonus: SignedMoney
    cpa_penalty: SignedMoney
    total: SignedMoney


class SettlementBreakdown(Frozen):
    """Settlements by group, with a total for each currency."""

    rows: tuple[BreakdownRow, ...]
    totals: tuple[BreakdownRow, ...]
    complete_to: Instant
