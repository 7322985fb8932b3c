"""The result of verification: one result for each criterion, and the verdict over them."""

from enum import StrEnum
from typing import Any

from aex_models.criteria import CriterionIndex, MetricName
from aex_models.examination import Fault
from aex_models.frozen import Frozen, Instant, Sha256
from aex_models.governance import GovernanceResult
from aex_models.money import ZERO, Money
from aex_models.science import ScienceResult
from aex_models.thresholds import ComparisonOperator, MetricType


class Verdict(StrEnum):
    """The conclusion of verification about a candidate."""

    PASSED = "passed"
    REJECTED = "rejected"
    INDETERMINATE = "indeterminate"
    """The verifier itself could not tell: never the agent's fault, never counted, not paid."""


class Provenance(StrEnum):
    """The source of a metric's value."""

    COMPUTED = "computed"
    """By the platform, from the candidate's output."""
    MEASURED = "measured"
    """By the platform, about the contract."""
    SELF_REPORTED = "self_reported"
    """By the agent, unchecked."""


METRIC_MISSING = "metric_missing"
"""The code of a metric that the candidate gives nothing to compute from."""
CUSTOM_METRIC_FAILED = "custom_metric_failed"
"""The code of a fault in the consumer's own metric code."""


class CriterionError(Frozen):
    """The reason for a criterion without a comparison."""

    code: str
    """`metric_missing`, `out_of_range`, `not_a_number`, `extractor_failed`, `custom_metric_failed`, …"""
    message: str = ""
    """Empty where the reader may not know it."""
    fault: Fault = Fault.AGENT
    """A platform fault makes the whole verdict indeterminate."""


class CriterionResult(Frozen):
    """An evaluated criterion."""

    metric: MetricName
    metric_type: MetricType
    value: bool | float | int | None = None
    """Measured value; None if it is missing, in error or hidden from the reader."""
    criterion: CriterionIndex | None = None
    """Index of the criterion in the success criteria; None in older records."""
    threshold: Any
    """Null in events and records where it is above 256 bytes: the criterion holds it."""
    comparison: ComparisonOperator
    met: bool
    required: bool
    """Effective: what was set, else what the aggregation implies."""
    weight: float
    bonus: Money = ZERO
    penalty: Money = ZERO
    error: CriterionError | None = None
    provenance: Provenance | None = None
    secret: bool = False
    """Computed from evaluation data: told to the agent at feedback level `full` alone."""


class VerificationResult(Frozen):
    """The verdict over one candidate, with all that led to it."""

    verification_id: str
    contract_id: str
    verdict: Verdict
    success: bool
    """Criteria ∧ named verifier ∧ science gate ∧ governance valid, each where the work has it."""
    metrics: dict[str, bool | float | int] = {}
    provenance: dict[str, Provenance] = {}
    criterion_results: tuple[CriterionResult, ...] = ()
    weighted_score: float
    bonus: Money = ZERO
    """Verified bonus, before the budget's caps."""
    penalty: Money = ZERO
    """Verified penalty, before the budget's caps."""
    science: ScienceResult | None = None
    governance: GovernanceResult
    governance_flags: tuple[str, ...] = ()
    """The names of the rules that governance raised."""
    candidate_hash: Sha256 | None = None
    engine_version: str
    verified_at: Instant
