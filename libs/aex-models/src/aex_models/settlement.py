"""Costs, settlements, and the double-entry ledger (spec file 6)."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from aex_models.booking import Booking
from aex_models.contract import ContractStatus
from aex_models.frozen import Frozen, Instant, ShortText, StrictInt
from aex_models.money import ZERO, Currency, Money, Rate, SignedMoney, SumMoney, TotalMoney
from aex_models.numbers import MAX_SAFE_INTEGER
from aex_models.results import Verdict
from aex_models.thresholds import ComparisonOperator
from aex_models.work import FeedbackLevel


class CostLine(Frozen):
    """One criterion and the gross amount that it brought, before caps and floor."""

    metric: str
    value: bool | float | int | None = None
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
    """At most base + bonus."""
    bonus_capped: Money
    """Bonus earned but taken away by the budget's cap."""
    penalty_waived: Money
    """Penalty incurred but taken away by the budget's cap or by the floor at 0."""
    fee: TotalMoney
    """The platform's share of the total, borne by the agent."""
    total: TotalMoney
    lines: tuple[CostLine, ...] = ()
    breakdown: Breakdown

    @model_validator(mode="after")
    def _adds_up(self) -> "Cost":
        parts = (self.breakdown.cpc, self.breakdown.cpa_bonus, self.breakdown.cpa_penalty)
        if self.base + self.bonus - self.penalty != self.total or parts != (self.base, self.bonus, self.penalty):
            raise PydanticCustomError("cost_does_not_add_up", "base + bonus − penalty is not the total")
        if self.fee > self.total:
            raise PydanticCustomError("fee_above_total", "The fee exceeds the total")
        return self


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
    """Why it was reversed."""
    by: str | None = None
    """Who reversed it."""


class Settlement(Frozen):
    """What one contract cost, and how it was booked."""

    contract_id: str
    work_id: str
    agent_id: str
    consumer_id: str
    domain: str
    success: bool
    final_status: ContractStatus
    verdict: Verdict | None = None
    """None where nothing was judged."""
    status: SettlementStatus
    revision: int
    """The latest; it stands where `status` is `settled`."""
    revisions: tuple[SettlementRevision, ...]
    cost: Cost
    """That of the latest revision."""
    fee_rate: Rate = ZERO
    """Of the contract's terms: what a replacement's fee is computed with."""
    disclosure: FeedbackLevel = FeedbackLevel.CRITERIA
    settled_at: Instant
    """When the first revision was booked."""


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
    amount: Annotated[StrictInt, Field(ge=-MAX_SAFE_INTEGER, le=MAX_SAFE_INTEGER)]
    """Signed micros: + debit, − credit. 1.00 is 1000000."""
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
    booking: Booking | None = None
    """What is counted of a settlement or a reversal; None for the other kinds."""

    @model_validator(mode="after")
    def _balances(self) -> "LedgerTransaction":
        sums = sums_by_currency(self.postings)
        if any(sums.values()):
            raise PydanticCustomError("unbalanced", "Postings do not sum to zero: {sums}", {"sums": str(sums)})
        return self


def sums_by_currency(postings: Iterable[Posting]) -> dict[str, int]:
    """What the postings sum to in each of their currencies, in micros."""
    sums: dict[str, int] = {}
    for posting in postings:
        sums[posting.currency] = sums.get(posting.currency, 0) + posting.amount
    return sums


class TransactionRequest(Frozen):
    """A deposit or an adjustment, as finance sends it."""

    kind: Literal[TransactionKind.DEPOSIT, TransactionKind.ADJUSTMENT]
    postings: tuple[Posting, ...] = Field(max_length=100, json_schema_extra={"minItems": 2})
    reason: ShortText

    @field_validator("postings", mode="before")
    @classmethod
    def _at_least_two(cls, postings: Any) -> Any:
        # Not by min_length: that counts what is left of invalid ones, and would report two problems for one.
        if isinstance(postings, list | tuple) and len(postings) < 2:
            raise PydanticCustomError("too_short", "At least two postings are needed")
        return postings


class AccountEntry(Frozen):
    """One posting as its account's statement shows it."""

    transaction_id: str
    contract_id: str | None = None
    kind: TransactionKind
    account: str
    amount: StrictInt
    """Signed micros: + debit, − credit."""
    currency: Currency
    occurred_at: Instant
    reason: str = ""
    balance: SumMoney = ZERO
    """What the account held in this currency after it."""


class AccountBalance(Frozen):
    """What an account holds in one currency."""

    account: str
    currency: Currency
    balance: SumMoney
    """Debits less credits."""


class Account(Frozen):
    """What one account holds, at one instant, in each currency that it was ever posted in."""

    account: str
    as_of: Instant
    complete_to: Instant | None
    """How far the answer reaches; None before anything was sealed."""
    balances: tuple[AccountBalance, ...]


class TrialBalance(Frozen):
    """All accounts at one instant. Sums to zero in each currency."""

    as_of: Instant
    complete_to: Instant | None
    """How far the answer reaches: what it says of instants up to here never changes. None: nothing is sealed yet."""
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
    cpc: SumMoney
    cpa_bonus: SumMoney
    cpa_penalty: SumMoney
    total: SumMoney


class SettlementBreakdown(Frozen):
    """Settlements by group, with a total for each currency."""

    rows: tuple[BreakdownRow, ...]
    totals: tuple[BreakdownRow, ...]
    complete_to: Instant | None
    """All that was sealed up to here is counted; None before anything was."""
