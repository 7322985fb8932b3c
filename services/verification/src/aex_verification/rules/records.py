"""Stored records of contracts and attempts, and the service's policy."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from aex_models.backoff import Backoff
from aex_models.contract import AttemptStatus
from aex_models.frozen import Frozen, Instant, Sha256
from aex_models.governance import KeywordStats, ReferenceSimilarity
from aex_models.results import Verdict, VerificationResult
from aex_models.work import Problem
from aex_outcomes.lifecycle.ruling import Rejected
from aex_outcomes.lifecycle.state import ContractState


class ContractRow(Frozen):
    """Contract with its parties and state. It is small because each step rewrites it."""

    contract_id: str
    work_id: str
    consumer_id: str
    agent_id: str
    awarded_at: Instant
    state: ContractState
    events: int = 0
    """Number of contract events, which is the `seq` of the last one."""
    traceparent: str | None = None
    """W3C trace context of the opening, which later steps without a trace continue."""


class GovernanceFacts(Frozen):
    """Facts about a candidate that governance cannot compute, because it has no evaluation data."""

    extracted_metrics: dict[str, bool | float | int | None] = {}
    """Extracted values; None for a value that is not a finite number."""
    output_text: str | None = None
    other_text: str | None = None
    structured_form: str | None = None
    """Text for comparison with later outputs; None if `output_text` is compared."""
    similarities: dict[str, float] = {}
    """Similarities of earlier judged outputs to this one in [0, 1], by output hash."""
    reference_similarity: ReferenceSimilarity | None = None
    keyword_stats: KeywordStats | None = None

    @property
    def comparison_text(self) -> str | None:
        """Return the text by which this output is compared with others; None if there is no text."""
        return self.structured_form or self.output_text or None


class AttemptRow(Frozen):
    """Attempt: the verification of one candidate. The candidate itself is stored beside it."""

    attempt_id: str
    contract_id: str
    candidate_key: str
    candidate_hash: Sha256
    output_hash: Sha256
    agent_org: str | None = None
    status: AttemptStatus
    verdict: Verdict | None = None
    counted: bool = False
    feedback: str | None = None
    errors: tuple[Problem, ...] = ()
    """Problems of an invalid output."""
    rejected: Rejected | None = None
    """Rejection by the named verifier, kept until the criteria are graded so that it does not run twice."""
    result: VerificationResult | None = None
    facts: GovernanceFacts = GovernanceFacts()
    claim_texts: dict[str, str] = {}
    """Original texts of claimed values whose stored numbers are less exact."""
    platform_latency_ms: float
    """Total time in ms that the contract had waited for the agent when this candidate arrived."""
    system_retries: int = 0
    """Failed verifications; calls to governance are counted separately."""
    governance_tries: int = 0
    """Requests that governance has refused since the verdict."""
    operator_retries: int = 0
    """Retries by an operator before this one; sorts attempts received at the same time."""
    last_error: str | None = None
    received_at: Instant
    judged_at: Instant | None = None


class FinalResult(Frozen):
    """Result of a named verifier for an attempt that passed or may be released; written once."""

    attempt_id: str
    contract_id: str
    final_result: Any
    """Value that the verifier returned as result, possibly None."""


SYSTEM_BACKOFF = Backoff(first=timedelta(seconds=1), cap=timedelta(seconds=60))
"""Delays between retries after the platform's own failures."""
LEASE = timedelta(seconds=90)
_OVERHEAD = timedelta(seconds=60)
"""Time for the verdict itself, and for writing raw data to files."""
_WAITING_CAP = timedelta(seconds=60)


def compute_retry_delay(waited: timedelta, jitter: float) -> timedelta:
    """Return the delay of the next try after a wait: a quarter of the time waited, from 1 to 60 s.

    So a short outage delays little, and a long one causes few calls.
    """
    return Backoff(first=max(timedelta(seconds=1), waited / 4), cap=_WAITING_CAP).delay(1, jitter)


def compute_verification_lease(reading_limit: timedelta, review_limit: timedelta) -> timedelta:
    """Return the time after which a verification counts as lost: longer than the slowest one can take.

    `reading_limit` bounds one worker on raw data, of which two may run; `review_limit` bounds the peer review. A
    shorter lease would only cause a second verification.
    """
    return max(LEASE, 2 * reading_limit + review_limit + _OVERHEAD)


@dataclass(frozen=True, slots=True)
class Policy:
    """Limits and switches of the service."""

    max_system_retries: int = 5
    """Retries after the platform's own failures before the attempt is held for an operator."""
    lease: timedelta = LEASE
    """Time after which an unfinished conclusion, or a wait for a slot, counts as lost and is repeated."""
    verification_lease: timedelta = LEASE
    """Time after which an unfinished verification counts as lost and is repeated."""
    governance_check: bool = True
    """False if governance is not called; allowed only with embedded backends."""
    store_outcomes: bool = True
    """False if outcomes are stored without their results; allowed only with embedded backends."""
