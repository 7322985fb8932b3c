"""Models of answers in which required fields may be missing, depending on the reader.

A missing field is None.
The fields are named as in the models of `aex_models`. An answer that always has its model's required fields is
returned as that model (`Work`, `Award`, `Contract`, `Hold`, …). Unknown fields of newer services are ignored.
"""

from datetime import datetime
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from aex_models.contract import AttemptStatus, ContractStatus, Terms
from aex_models.criteria import SuccessCriteria
from aex_models.examination import Examination, Fault, MismatchSeverity, MixedGroups
from aex_models.governance import Action, DecidedBy, MetricProfile, Severity
from aex_models.money import SumMoney as Amount
from aex_models.outcome import BillingImpact
from aex_models.results import Provenance, Verdict
from aex_models.science import GateReason, OutcomeVerdict, Recommendation, Reviewer, ReviewFailure, ScientificValidity
from aex_models.settlement import Breakdown, SettlementStatus, TransactionKind
from aex_models.thresholds import ComparisonOperator, MetricType
from aex_models.work import FeedbackLevel

T = TypeVar("T")
Value = bool | float | int | None


class View(BaseModel):
    """The base of views: the part of a record that its reader may see."""

    model_config = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)


class Page(View, Generic[T]):
    """A page of a list. `next_cursor` is None on the last page."""

    items: tuple[T, ...]
    next_cursor: str | None = None


class RaisedFlagView(View):
    """A fraud rule that was raised for an attempt."""

    rule: str
    severity: Severity
    message: str | None = None
    evidence: dict[str, Any] = {}


class GovernanceView(View):
    """Governance's result for an attempt."""

    action: Action
    decided_by: DecidedBy
    flags: tuple[RaisedFlagView, ...] = ()


class RecordView(View):
    """The common fields of an agent's record: outcomes, governance's actions and flags."""

    outcomes: int
    successes: int
    success_rate: float | None
    """Share of successes; None if there are no outcomes."""
    final_statuses: dict[str, int] = {}
    decisions: dict[str, int] = {}
    flags: dict[str, int] = {}


class DomainProfileView(RecordView):
    """An agent's record in one domain."""

    domain: str
    metrics: dict[str, MetricProfile] = {}


class AgentProfileView(RecordView):
    """An agent's record: the totals over all domains, and a page of its domains in order of their names."""

    agent_id: str
    domains: tuple[DomainProfileView, ...] = ()
    next_cursor: str | None = None
    """Cursor of the next page of domains; None on the last page."""


class CriterionErrorView(View):
    """The reason why a criterion has no value to compare with its threshold."""

    code: str
    message: str | None = None
    fault: Fault | None = None


class CriterionView(View):
    """The result of one criterion: its value, its threshold and whether it is met."""

    metric: str
    metric_type: MetricType
    comparison: ComparisonOperator
    criterion: int | None = None
    """Index of the criterion in the success criteria; None in old records."""
    threshold: Any
    value: Value = None
    met: bool
    required: bool
    weight: float
    bonus: Amount
    penalty: Amount
    error: CriterionErrorView | None = None
    provenance: Provenance | None = None


class MismatchView(View):
    """A claimed value that differs from the recomputed one.

    An agent sees values that come from the consumer's own data only at feedback level `full`.
    """

    name: str | None = None
    claimed: float
    actual: float | None = None
    severity: MismatchSeverity | None = None
    relative_error: float | None = None


class ViolationView(View):
    """A value that violates a range of the domain, a constraint of the work or a sanity check."""

    name: str
    message: str | None = None
    value: float | None = None
    min: float | None = None
    max: float | None = None
    source: str = ""


class ReviewView(View):
    """A peer review of a claimed result, which only consumers and operators see."""

    outcome_verdict: OutcomeVerdict
    scientific_validity: ScientificValidity
    confidence: float
    answers_original_question: bool | None = None
    values_plausible: bool | None = None
    values_consistent: bool | None = None
    reasoning_sound: bool | None = None
    issues: tuple[str, ...] = ()
    value_mismatches: tuple[MismatchView, ...] = ()
    domain_violations: tuple[str, ...] = ()
    missing_for_conclusion: tuple[str, ...] = ()
    recommendation: Recommendation
    reasoning: str = ""


class ScienceView(View):
    """The result of the science gate, as far as the reader may see it."""

    passed: bool | None = None
    """True if the candidate passes the gate; None if that is unknown."""
    reasons: tuple[GateReason, ...] = ()
    """Reasons for not passing."""
    warnings: tuple[GateReason, ...] = ()
    value_mismatches: tuple[MismatchView, ...] = ()
    domain_violations: tuple[ViolationView, ...] = ()
    mixed_groups: tuple[MixedGroups, ...] = ()
    """Groups that statistics mix. An agent sees groups of the consumer's data only at feedback level `full`."""
    values_plausible: bool | None = None
    values_consistent: bool | None = None
    examination: Examination | None = None
    """Complete results of the recomputation, which only consumers and operators see."""
    review: ReviewView | None = None
    review_failure: ReviewFailure | None = None
    reviewer: Reviewer | None = None


class VerificationView(View):
    """The verdict on a candidate. At feedback level `none` an agent sees neither criteria nor amounts."""

    verification_id: str
    contract_id: str
    verdict: Verdict
    success: bool
    metrics: dict[str, Value] = {}
    provenance: dict[str, Provenance] = {}
    criterion_results: tuple[CriterionView, ...] = ()
    details: dict[str, Any] = {}
    """Further figures by metric, such as the result of each hidden test."""
    weighted_score: float | None = None
    bonus: Amount | None = None
    penalty: Amount | None = None
    science: ScienceView | None = None
    governance: GovernanceView
    governance_flags: tuple[str, ...] = ()
    candidate_hash: str | None = None
    engine_version: str
    verified_at: datetime


class CandidateView(View):
    """A candidate that was posted to a contract."""

    output: Any = None
    execution_metadata: dict[str, Any] = {}
    claimed_metrics: dict[str, Any] = {}
    claimed_values: dict[str, Any] = {}
    reasoning: str | None = None
    artifacts: tuple[dict[str, Any], ...] = ()


class AttemptView(View):
    """A verification of a candidate: its status, verdict, feedback and result."""

    attempt_id: str
    contract_id: str
    status: AttemptStatus
    verdict: Verdict | None = None
    feedback: str | None = None
    counted: bool = False
    replay: bool = False
    errors: tuple[dict[str, Any], ...] = ()
    result: VerificationView | None = None
    candidate: CandidateView | None = None
    candidate_hash: str | None = None
    output_hash: str | None = None
    system_retries: int | None = None
    received_at: datetime
    judged_at: datetime | None = None

    @property
    def settled(self) -> bool:
        """True if the attempt has a verdict or is invalid, so that waiting longer changes nothing."""
        return self.status in {AttemptStatus.JUDGED, AttemptStatus.INVALID}


class OutcomeView(View):
    """A contract's outcome record, as far as the reader may see it."""

    id: str
    contract_id: str
    work_id: str
    agent_id: str
    consumer_id: str
    domain: str
    final_status: ContractStatus
    success_criteria: SuccessCriteria | None = None
    verification_result: VerificationView | None = None
    final_result: Any = None
    attempts_used: int
    execution_metadata: dict[str, Any] = {}
    terms: Terms
    billing_impact: BillingImpact
    disclosure: FeedbackLevel | None = None
    stored: bool = True
    """False if the platform stores no results. Then `verification_result` is None."""
    created_at: datetime


class CostLineView(View):
    """A criterion and its amount before caps and floor."""

    metric: str
    comparison: ComparisonOperator
    criterion: int | None = None
    """Index of the criterion in the success criteria; None in old records."""
    threshold: Any
    value: Value = None
    met: bool
    amount: Amount


class AmountsView(View):
    """The common fields of costs: amounts of a contract, with base + bonus − penalty = total."""

    contract_id: str
    currency: str
    base: Amount
    bonus: Amount
    penalty: Amount
    bonus_capped: Amount
    penalty_waived: Amount
    fee: Amount
    total: Amount


class CostView(AmountsView):
    """The cost of an outcome, with its cost line for each criterion."""

    lines: tuple[CostLineView, ...] = ()
    breakdown: Breakdown


class SettlementRevisionView(View):
    """A posted version of a contract's cost; a later correction reverses it."""

    revision: int
    cost: CostView
    settled_at: datetime
    reversed_at: datetime | None = None
    reason: str | None = None
    by: str | None = None


class SettlementView(View):
    """The settlement of a contract: its current cost and all revisions of it."""

    contract_id: str
    work_id: str
    agent_id: str
    consumer_id: str
    domain: str
    success: bool
    final_status: ContractStatus | None = None
    verdict: Verdict | None = None
    """Verdict; None if nothing was graded."""
    status: SettlementStatus
    revision: int
    revisions: tuple[SettlementRevisionView, ...]
    cost: CostView
    settled_at: datetime


class BookingView(AmountsView):
    """A row of the export of settlements: a posted or reversed cost. A reversal has negative amounts."""

    booked_at: datetime
    kind: TransactionKind
    work_id: str
    agent_id: str
    consumer_id: str
    domain: str
    revision: int
    success: bool
    transaction_id: str
    reason: str
    by: str | None = None
