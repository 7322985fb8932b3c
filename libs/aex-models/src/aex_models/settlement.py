"""Costs, settlements, and the double-entry ledger (spec file 6)."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from aex_models.contract import ContractStatus
from aex_models.corrections import Booking
from aex_models.criteria import CriterionIndex, SuccessCriteria
from aex_models.frozen import Frozen, Instant, ShortText, StrictInt
from aex_models.money import ZERO, Currency, Money, Rate, SignedMoney, SumMoney, TotalMoney
from aex_models.numbers import MAX_SAFE_INTEGER
from aex_models.results import Verdict
from aex_models.thresholds import ComparisonOperator
from aex_models.work import FeedbackLevel


class CostLine(Frozen):
    """A criterion and its amount before caps and floor. Its other fields are those of `CriterionResult`."""

    metric: str
    value: bool | float | int | None = None
    criterion: CriterionIndex | None = None
    threshold: Any
    comparison: ComparisonOperator
    met: bool
    amount: SignedMoney
    """A bonus earned is positive, a penalty incurred is negative, else 0."""
    secret: bool = False


class Breakdown(Frozen):
    """The parts of a total by payment model: CPC, CPA bonus and CPA penalty."""

    cpc: Money
    cpa_bonus: Money
    cpa_penalty: Money


class Cost(Frozen):
    """The cost of an outcome. base + bonus − penalty = total."""

    contract_id: str
    currency: Currency
    base: Money
    bonus: Money
    penalty: Money
    """At most base + bonus."""
    bonus_capped: Money
    """Part of the earned bonus above the budget's cap, which is not paid."""
    penalty_waived: Money
    """Part of the incurred penalty that the budget's cap or the floor of 0 removes."""
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
    """The status of a settlement."""

    SETTLED = "settled"
    REVERSED = "reversed"


class SettlementRevision(Frozen):
    """A posted version of a contract's cost; a later correction reverses it."""

    revision: int
    cost: Cost
    settled_at: Instant
    reversed_at: Instant | None = None
    reason: str | None = None
    """Reason of the reversal."""
    by: str | None = None
    """Principal that reversed the revision."""


class Settlement(Frozen):
    """The settlement of a contract: its current cost and all revisions of it."""

    contract_id: str
    work_id: str
    agent_id: str
    consumer_id: str
    domain: str
    success: bool
    final_status: ContractStatus
    verdict: Verdict | None = None
    """Verdict; None if nothing was graded."""
    status: SettlementStatus
    revision: int
    """Number of the latest revision, which is in force if `status` is `settled`."""
    revisions: tuple[SettlementRevision, ...]
    cost: Cost
    """Cost of the latest revision."""
    fee_rate: Rate = ZERO
    """Fee rate of the contract's terms, from which a replacement's fee is computed."""
    success_criteria: SuccessCriteria | None = None
    """Criteria of the contract, stored only if a line's threshold is above 256 bytes. Readers do not see them."""
    disclosure: FeedbackLevel = FeedbackLevel.CRITERIA
    settled_at: Instant
    """Time of the first revision."""


class TransactionKind(StrEnum):
    """The kind of a ledger transaction."""

    SETTLEMENT = "settlement"
    REVERSAL = "reversal"
    DEPOSIT = "deposit"
    ADJUSTMENT = "adjustment"


class Posting(Frozen):
    """A signed side of a ledger transaction: an amount on an account."""

    account: Annotated[str, Field(min_length=1, max_length=160)]
    """`consumer:{id}`, `agent:{id}`, `platform:fees`, `platform:cash`."""
    amount: Annotated[StrictInt, Field(ge=-MAX_SAFE_INTEGER, le=MAX_SAFE_INTEGER)]
    """Signed micros: + debit, − credit. 1.00 is 1000000."""
    currency: Currency


class LedgerTransaction(Frozen):
    """A ledger transaction: postings that sum to zero in each currency. It is never changed or deleted."""

    id: str
    contract_id: str | None = None
    kind: TransactionKind
    postings: tuple[Posting, ...] = Field(min_length=2)
    occurred_at: Instant
    reason: str = ""
    by: str = ""
    booking: Booking | None = None
    """Figures of a settlement or reversal for the breakdowns; None for other kinds."""

    @model_validator(mode="after")
    def _balances(self) -> "LedgerTransaction":
        sums = sum_micros_by_currency(self.postings)
        if any(sums.values()):
            raise PydanticCustomError("unbalanced", "Postings do not sum to zero: {sums}", {"sums": str(sums)})
        return self


def sum_micros_by_currency(postings: Iterable[Posting]) -> dict[str, int]:
    """Return the sum of the postings' amounts in each currency, in micros."""
    sums: dict[str, int] = {}
    for posting in postings:
        sums[posting.currency] = sums.get(posting.currency, 0) + posting.amount
    return sums


class TransactionRequest(Frozen):
    """A request by finance to post a deposit or an adjustment."""

    kind: Literal[TransactionKind.DEPOSIT, TransactionKind.ADJUSTMENT]
    postings: tuple[Posting, ...] = Field(max_length=100, json_schema_extra={"minItems": 2})
    reason: ShortText

    @field_validator("postings", mode="before")
    @classmethod
    def _check_two_postings(cls, postings: Any) -> Any:
        # Not by min_length: that counts only the valid ones, and would report two problems for one.
        if isinstance(postings, list | tuple) and len(postings) < 2:
            raise PydanticCustomError("too_short", "At least two postings are needed")
        return postings


class AccountEntry(Frozen):
    """A posting as an entry of its account, with the balance after it."""

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
    """Balance of the account in this currency after the posting."""


class AccountBalance(Frozen):
    """An account's balance in one currency."""

    account: str
    currency: Currency
    balance: SumMoney
    """Debits less credits."""


class Account(Frozen):
    """An account's balances at an instant, in each currency of its postings."""

    account: str
    as_of: Instant
    complete_to: Instant | None
    """Instant up to which the journal is sealed; None if nothing is sealed yet."""
    balances: tuple[AccountBalance, ...]


class TrialBalance(Frozen):
    """The balances of all accounts at an instant. They sum to zero in each currency."""

    as_of: Instant
    complete_to: Instant | None
    """Instant up to which the journal is sealed and figures never change; None if nothing is sealed yet."""
    accounts: tuple[AccountBalance, ...]


class BreakdownRow(Frozen):
    """The sums over one group of settlements. A key that does not define the groups is None."""

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
    """Sums over settlements by group, with a total for each currency."""

    rows: tuple[BreakdownRow, ...]
    totals: tuple[BreakdownRow, ...]
    complete_to: Instant | None
    """Instant of the last sealed batch that is counted; None if nothing is sealed yet."""
