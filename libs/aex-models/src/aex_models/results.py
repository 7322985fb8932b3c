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
    """The result of verifying a candidate: passed, rejected or indeterminate."""

    PASSED = "passed"
    REJECTED = "rejected"
    INDETERMINATE = "indeterminate"
    """The verifier itself failed. It is never the agent's fault, uses no attempt and costs nothing."""


class Provenance(StrEnum):
    """The source of a metric's value."""

    COMPUTED = "computed"
    """Computed by the platform from the candidate's output."""
    MEASURED = "measured"
    """Measured by the platform on the contract, such as a latency."""
    SELF_REPORTED = "self_reported"
    """Reported by the agent, unchecked."""


METRIC_MISSING = "metric_missing"
"""Error code of a metric for which the candidate holds nothing to compute it from."""
CUSTOM_METRIC_FAILED = "custom_metric_failed"
"""Error code of a failure of the consumer's own metric code."""


class CriterionError(Frozen):
    """The reason why a criterion has no value to compare with its threshold."""

    code: str
    """`metric_missing`, `out_of_range`, `not_a_number`, `extractor_failed`, `custom_metric_failed`, …"""
    message: str = ""
    """Explanation; empty if the reader may not know it."""
    fault: Fault = Fault.AGENT
    """Party at fault. A platform fault makes the whole verdict indeterminate."""


class CriterionResult(Frozen):
    """The result of one criterion: its value, its threshold and whether it is met."""

    metric: MetricName
    metric_type: MetricType
    value: bool | float | int | None = None
    """The value; None if it is missing, in error or hidden from the reader."""
    criterion: CriterionIndex | None = None
    """Index of the criterion in the success criteria; None in older records."""
    threshold: Any
    """The threshold. In events and records it is null above 256 bytes: the criterion holds it."""
    comparison: ComparisonOperator
    met: bool
    required: bool
    """The criterion's own setting, or the default of the aggregation."""
    weight: float
    bonus: Money = ZERO
    penalty: Money = ZERO
    error: CriterionError | None = None
    provenance: Provenance | None = None
    secret: bool = False
    """True if computed from evaluation data. An agent sees the value only at feedback level `full`."""


class VerificationResult(Frozen):
    """The verdict on a candidate, with the results that led to it."""

    verification_id: str
    contract_id: str
    verdict: Verdict
    success: bool
    """True if criteria, named verifier, science gate and governance pass, as far as the work has them."""
    metrics: dict[str, bool | float | int] = {}
    provenance: dict[str, Provenance] = {}
    criterion_results: tuple[CriterionResult, ...] = ()
    details: dict[str, Any] = {}
    """Further figures by metric, such as the result of each hidden test; at most 64 kB as JSON."""
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
