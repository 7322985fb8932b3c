"""Models of governance: validation of attempts, flags, holds, rules and profiles (spec file 5)."""

import math
import re
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictFloat

from aex_models.frozen import Frozen, Identifier, Instant, Sha256, ShortText, StrictBool, StrictInt


class Severity(StrEnum):
    """The severity of a flag."""

    INFO = "info"
    MINOR = "minor"
    MAJOR = "major"
    CRITICAL = "critical"


class Action(StrEnum):
    """Governance's action on an outcome. `skipped`: governance was not called, as in offline verification."""

    ALLOW = "allow"
    HOLD = "hold"
    REJECT = "reject"
    SKIPPED = "skipped"


class DecidedBy(StrEnum):
    """The kind of decider of an action."""

    RULES = "rules"
    OPERATOR = "operator"
    NOBODY = "nobody"


class Flag(Frozen):
    """A fraud rule that was raised for an attempt, with the reason for an operator."""

    rule: str
    severity: Severity
    message: str = ""
    """Explanation; empty if the reader may not know it."""
    evidence: dict[str, Any] = {}
    """Figures behind the flag. Only operators and services see them: some come from evaluation data."""


class GovernanceResult(Frozen):
    """Governance's result for an attempt, as part of the verification result."""

    action: Action
    decided_by: DecidedBy = DecidedBy.RULES
    flags: tuple[Flag, ...] = ()


class Party(Frozen):
    """A principal and its organisation; `org` is None if the principal's token names none."""

    id: Identifier
    org: Identifier | None = None


class ReferenceSimilarity(Frozen):
    """The similarity of a candidate to the secret reference, computed by verification."""

    rouge_l: StrictFloat | None = None
    bleu: StrictFloat | None = None
    likeness: StrictFloat | None = None
    """Similarity of the words, in any script, without case and punctuation.

    The larger of the longest common subsequence's F-measure and the share of a longer reference's words in runs."""


class KeywordStats(Frozen):
    """Counts of required keywords in a candidate's text, computed by verification."""

    found: StrictInt
    density: StrictFloat
    """Share of the text's tokens that are required terms."""
    list_share: StrictFloat
    """Share of the found terms that occur in lists or repetitions, not in prose."""


def _finite_or_none(value: Any) -> Any:
    """Return None for NaN, infinities and texts such as `nan`; return any other value unchanged."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return None if isinstance(value, str) and _NOT_FINITE.fullmatch(value) else value


_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
Extracted = Annotated[StrictBool | StrictInt | StrictFloat | None, BeforeValidator(_finite_or_none)]
"""An extracted value; None, `"NaN"`, `"Infinity"` and `"-inf"` mean that it is not finite."""
Claimed = StrictBool | StrictInt | StrictFloat


class PreviousAttempt(Frozen):
    """An earlier judged candidate of the same contract."""

    output_hash: Sha256
    metrics: dict[str, Extracted] = {}
    similarity: StrictFloat | None = None
    """Similarity of the earlier output to the validated one, in [0, 1]; None if unknown."""


class ScienceFindings(Frozen):
    """Mismatches and violations that the science gate found."""

    mismatches: tuple[dict[str, Any], ...] = ()
    """Each `{name, claimed, recomputed, relative_error, severity}` (spec file 4)."""
    violations: tuple[str | dict[str, Any], ...] = ()


class ValidationRequest(Frozen):
    """A request to check an attempt by the fraud rules before it becomes final."""

    attempt_id: Identifier
    contract_id: Identifier
    work_id: Identifier
    domain: str
    agent: Party
    consumer: Party
    extracted_metrics: dict[str, Extracted] = {}
    """Extracted values; None for one that is not a finite number."""
    claimed_metrics: dict[str, Claimed] = {}
    science: ScienceFindings | None = None
    execution_metadata: dict[str, Any] = {}
    platform_latency_ms: StrictFloat | None = None
    output_text: str | None = None
    other_text: str | None = None
    """Further texts of the candidate that a reviewer may read: reasoning, other texts of the output."""
    output_hash: Sha256
    reference_similarity: ReferenceSimilarity | None = None
    keyword_stats: KeywordStats | None = None
    previous_attempts: tuple[PreviousAttempt, ...] = ()
    received_at: Instant


class ValidationDecision(Frozen):
    """The answer to a validation request. A repeated request gets the same answer."""

    valid: bool
    action: Action
    flags: tuple[Flag, ...] = ()
    risk_score: Annotated[float, Field(ge=0, le=1)] = 0.0


class HoldCause(StrEnum):
    """The cause of a hold."""

    FRAUD_SUSPECTED = "fraud_suspected"
    SYSTEM_RETRIES_EXHAUSTED = "system_retries_exhausted"
    CUSTOM_METRIC_FAILED = "custom_metric_failed"
    REVIEW_UNPARSABLE = "review_unparsable"


class Decision(StrEnum):
    """An operator's decision on a held outcome."""

    RELEASE = "release"
    REJECT = "reject"
    RETRY = "retry"


class HoldStatus(StrEnum):
    """The status of a hold."""

    WAITING = "waiting"
    DECIDED = "decided"


class HoldDecision(Frozen):
    """A request by an operator to decide a hold."""

    decision: Decision
    reason: ShortText


class Hold(Frozen):
    """An outcome that waits, or waited, for the decision of an operator."""

    hold_id: str
    contract_id: str
    attempt_id: str
    cause: HoldCause
    flags: tuple[Flag, ...] = ()
    status: HoldStatus = HoldStatus.WAITING
    held_at: Instant
    decision: Decision | None = None
    reason: str | None = None
    decided_by: str | None = None
    decided_at: Instant | None = None
    agent_id: str | None = None
    """Agent of the outcome. This and the next three fields are None if governance never got the attempt."""
    consumer_id: str | None = None
    work_id: str | None = None
    domain: str | None = None


class Rule(Frozen):
    """A fraud rule as `GET /v1/rules` shows it: its actions by severity and its thresholds."""

    name: str
    description: str
    actions: dict[str, str]
    """Severity → action."""
    thresholds: dict[str, Any] = {}
    threshold_notes: dict[str, str] = {}
    """Meaning and unit of each threshold."""
    enabled: bool = True


class MetricProfile(Frozen):
    """The distribution of a metric's values, estimated from a histogram to the width of its buckets."""

    count: int
    median: float
    mad: float
    """Median absolute deviation."""


class DomainProfile(Frozen):
    """An agent's record in one domain. Without outcomes, `success_rate` is None: unknown is not zero."""

    domain: str
    outcomes: int
    successes: int
    success_rate: float | None
    final_statuses: dict[str, int] = {}
    decisions: dict[str, int] = {}
    """Governance's action → validated attempts."""
    flags: dict[str, int] = {}
    """Rule → validated attempts for which it was raised."""
    metrics: dict[str, MetricProfile] = {}


class AgentProfile(Frozen):
    """An agent's record: final statuses of its contracts, governance's actions and flags."""

    agent_id: str
    outcomes: int
    successes: int
    success_rate: float | None
    final_statuses: dict[str, int] = {}
    decisions: dict[str, int] = {}
    flags: dict[str, int] = {}
    domains: tuple[DomainProfile, ...] = ()
    """The agent's record in each domain, ordered by name."""
