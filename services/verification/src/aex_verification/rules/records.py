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
    """Contract with its parties and state. Small, because every step rewrites it."""

    contract_id: str
    work_id: str
    consumer_id: str
    agent_id: str
    awarded_at: Instant
    state: ContractState
    events: int = 0
    """Number of contract events: the `seq` of the last one."""
    traceparent: str | None = None
    """W3C trace context of its opening, continued by later steps that have no trace of their own."""


class GovernanceFacts(Frozen):
    """Facts on a candidate that governance cannot compute: it never sees evaluation data."""

    extracted_metrics: dict[str, bool | float | int | None] = {}
    """Extracted values; None for one that is not a finite number."""
    output_text: str | None = None
    other_text: str | None = None
    structured_form: str | None = None
    """Form for comparison with later outputs, where that is not the text alone."""
    similarities: dict[str, float] = {}
    """Similarities of earlier judged outputs to this one, by output hash."""
    reference_similarity: ReferenceSimilarity | None = None
    keyword_stats: KeywordStats | None = None

    @property
    def form(self) -> str | None:
        """Return the form for comparison with other outputs; None where there is none."""
        return self.structured_form or self.output_text or None


class AttemptRow(Frozen):
    """Verification of a candidate, which is stored beside it and written once."""

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
    """Ruling of the named verifier while the criteria are not yet graded: it does not run twice."""
    result: VerificationResult | None = None
    facts: GovernanceFacts = GovernanceFacts()
    claim_texts: dict[str, str] = {}
    """Texts of claimed values that the candidate's record holds as numbers."""
    platform_latency_ms: float
    """Total time that the contract had waited for the agent when this candidate arrived."""
    system_retries: int = 0
    """Failed verifications; the stage of governance counts its own."""
    governance_tries: int = 0
    """Requests that governance refused since the verdict."""
    operator_retries: int = 0
    """Earlier retries by an operator; orders attempts received at once."""
    last_error: str | None = None
    received_at: Instant
    judged_at: Instant | None = None


class FinalResult(Frozen):
    """Result of a named verifier for an attempt that passed or may be released. Written once."""

    attempt_id: str
    contract_id: str
    final_result: Any
    """Result of the verifier; None if it returned None."""


SYSTEM_BACKOFF = Backoff(first=timedelta(seconds=1), cap=timedelta(seconds=60))
"""Between the platform's own retries."""
LEASE = timedelta(seconds=90)
_OVERHEAD = timedelta(seconds=60)
"""For the verdict, and for writing raw data to files."""
_WAITING_CAP = timedelta(seconds=60)


def waiting_delay(waited: timedelta, jitter: float) -> timedelta:
    """Return the delay of the next try at governance or a slot: a quarter of the wait, 1 to 60 s.

    So a short outage delays little, and a long one causes few calls.
    """
    return Backoff(first=max(timedelta(seconds=1), waited / 4), cap=_WAITING_CAP).delay(1, jitter)


def verification_lease(reading: timedelta, reviewing: timedelta) -> timedelta:
    """Return a lease that outlasts two workers on raw data, both with full time, and the reviewer.

    The first worker reads both owners' files, the second the consumer's alone. A shorter lease costs a second
    verification elsewhere, whose equal result is recorded once.
    """
    return max(LEASE, 2 * reading + reviewing + _OVERHEAD)


@dataclass(frozen=True, slots=True)
class Policy:
    max_system_retries: int = 5
    """Retries after the platform's own failure, before an operator decides."""
    lease: timedelta = LEASE
    """After this time an unfinished conclusion, or a wait for a slot, counts as lost and is repeated."""
    verification_lease: timedelta = LEASE
    """After this time an unfinished verification counts as lost and is repeated."""
    governance_check: bool = True
    """May be off only in the embedded default."""
    store_outcomes: bool = True
    """May be off only in the embedded default; then outcomes are stored without their results."""
