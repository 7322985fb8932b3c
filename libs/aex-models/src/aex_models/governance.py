"""Governance: what is asked, what is flagged, what is held, and who decided (spec file 5)."""

import math
import re
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictFloat

from aex_models.frozen import Frozen, Identifier, Instant, Sha256, ShortText, StrictBool, StrictInt


class Severity(StrEnum):
    """How serious a flag is."""

    INFO = "info"
    MINOR = "minor"
    MAJOR = "major"
    CRITICAL = "critical"


class Action(StrEnum):
    """What governance wants done with an outcome. `skipped`: nobody asked it (offline alone)."""

    ALLOW = "allow"
    HOLD = "hold"
    REJECT = "reject"
    SKIPPED = "skipped"


class DecidedBy(StrEnum):
    """Who decided."""

    RULES = "rules"
    OPERATOR = "operator"
    NOBODY = "nobody"


class Flag(Frozen):
    """One rule, raised: an operator can tell from it alone why."""

    rule: str
    severity: Severity
    message: str = ""
    """Empty where the reader may not know it."""
    evidence: dict[str, Any] = {}
    """The figures. Seen by operators and services alone: some are computed from evaluation data."""


class GovernanceResult(Frozen):
    """What governance says of one attempt, as the verification result carries it."""

    action: Action
    decided_by: DecidedBy = DecidedBy.RULES
    flags: tuple[Flag, ...] = ()


class Party(Frozen):
    """A principal and the organisation that it belongs to, where it names one."""

    id: Identifier
    org: Identifier | None = None


class ReferenceSimilarity(Frozen):
    """How near a candidate is to the hidden reference; computed by verification."""

    rouge_l: StrictFloat | None = None
    bleu: StrictFloat | None = None
    likeness: StrictFloat | None = None
    """Word by word, in any script, case and punctuation aside: the F-measure of the longest common subsequence or, if
    more, the share of a longer prose reference's words that the text has in runs."""


class KeywordStats(Frozen):
    """How the required keywords stand in a candidate's text; computed by verification."""

    found: StrictInt
    density: StrictFloat
    """Share of the text's tokens that are required terms."""
    list_share: StrictFloat
    """Share of the found terms that stand in lists or repeats, not in prose."""


def _finite_or_none(value: Any) -> Any:
    """JSON has no sign for what is not finite: whoever writes it as a word means the same as null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return None if isinstance(value, str) and _NOT_FINITE.fullmatch(value) else value


_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
Extracted = Annotated[StrictBool | StrictInt | StrictFloat | None, BeforeValidator(_finite_or_none)]
"""A value that was extracted. None: it is not a finite number; `"NaN"`, `"Infinity"`, `"-inf"` mean the same."""
Claimed = StrictBool | StrictInt | StrictFloat


class PreviousAttempt(Frozen):
    """An earlier judged candidate of the same contract."""

    output_hash: Sha256
    metrics: dict[str, Extracted] = {}
    similarity: StrictFloat | None = None
    """Of its output to the output that is validated, in [0, 1]; None where it could not be told."""


class ScienceFindings(Frozen):
    """Mismatches and violations that the science gate found."""

    mismatches: tuple[dict[str, Any], ...] = ()
    """Each `{name, claimed, recomputed, relative_error, severity}` (spec file 4)."""
    violations: tuple[str | dict[str, Any], ...] = ()


class ValidationRequest(Frozen):
    """All that the rules need, about one attempt that is about to become final."""

    attempt_id: Identifier
    contract_id: Identifier
    work_id: Identifier
    domain: str
    agent: Party
    consumer: Party
    extracted_metrics: dict[str, Extracted] = {}
    """None: the extracted value is not a finite number (JSON has no sign for it)."""
    claimed_metrics: dict[str, Claimed] = {}
    science: ScienceFindings | None = None
    execution_metadata: dict[str, Any] = {}
    platform_latency_ms: StrictFloat | None = None
    output_text: str | None = None
    other_text: str | None = None
    """What else the candidate says in words, where a reviewer may read it: its reasoning, other texts of its output."""
    output_hash: Sha256
    reference_similarity: ReferenceSimilarity | None = None
    keyword_stats: KeywordStats | None = None
    previous_attempts: tuple[PreviousAttempt, ...] = ()
    received_at: Instant


class ValidationDecision(Frozen):
    """The answer to a validation request. The same for every repeat of it."""

    valid: bool
    action: Action
    flags: tuple[Flag, ...] = ()
    risk_score: Annotated[float, Field(ge=0, le=1)] = 0.0


class HoldCause(StrEnum):
    """Why a human is asked."""

    FRAUD_SUSPECTED = "fraud_suspected"
    SYSTEM_RETRIES_EXHAUSTED = "system_retries_exhausted"
    CUSTOM_METRIC_FAILED = "custom_metric_failed"
    REVIEW_UNPARSABLE = "review_unparsable"


class Decision(StrEnum):
    """What an operator does with a held outcome."""

    RELEASE = "release"
    REJECT = "reject"
    RETRY = "retry"


class HoldStatus(StrEnum):
    """Whether a hold still waits."""

    WAITING = "waiting"
    DECIDED = "decided"


class HoldDecision(Frozen):
    """A decision as an operator sends it."""

    decision: Decision
    reason: ShortText


class Hold(Frozen):
    """An outcome that waits for an operator, or no longer."""

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
    """Whose outcome it is; None, like the following, where governance was never asked about the attempt."""
    consumer_id: str | None = None
    work_id: str | None = None
    domain: str | None = None


class Rule(Frozen):
    """One fraud rule as `GET /v1/rules` documents it."""

    name: str
    description: str
    actions: dict[str, str]
    """Severity → action."""
    thresholds: dict[str, Any] = {}
    threshold_notes: dict[str, str] = {}
    """What each threshold means, with its unit."""
    enabled: bool = True


class MetricProfile(Frozen):
    """How a metric has lain so far, told from a histogram: exact to the width of its buckets."""

    count: int
    median: float
    mad: float
    """Median absolute deviation."""


class DomainProfile(Frozen):
    """An agent's record in one domain. Rates are None where nothing was counted yet: unknown is not zero."""

    domain: str
    outcomes: int
    successes: int
    success_rate: float | None
    final_statuses: dict[str, int] = {}
    decisions: dict[str, int] = {}
    """Governance's action → validated attempts."""
    flags: dict[str, int] = {}
    """Rule → validated attempts that it was raised for."""
    metrics: dict[str, MetricProfile] = {}


class AgentProfile(Frozen):
    """An agent's record: how its contracts ended, and what was flagged."""

    agent_id: str
    outcomes: int
    successes: int
    success_rate: float | None
    final_statuses: dict[str, int] = {}
    decisions: dict[str, int] = {}
    flags: dict[str, int] = {}
    domains: tuple[DomainProfile, ...] = ()
    """By name."""
