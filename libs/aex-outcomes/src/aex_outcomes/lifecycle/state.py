"""State of a contract under verification: a document that is changed only by compare-and-set."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from aex_models.contract import FINAL_STATUSES, CancelCause, ContractStatus
from aex_models.frozen import Frozen, Instant, Sha256
from aex_models.results import Verdict

NEVER = datetime.max.replace(tzinfo=UTC)
"""Deadline of a loop without a service."""


class LastOutcome(StrEnum):
    """Kind of result of the last verification."""

    PASSED = "passed"
    REJECTED = "rejected"
    SYSTEM_ERROR = "system_error"


class Judged(Frozen):
    """Counted verdict on a candidate."""

    attempt_id: str
    verdict: Verdict
    weighted_score: float
    ordinal: int
    """Number of the candidate among those with a verdict, from 1."""


class InvalidCandidate(Frozen):
    """Candidate whose output is not of the verifier's output type; it uses no attempt."""

    attempt_id: str
    candidate_hash: Sha256


class VerificationState(Frozen):
    """Count of attempts and their verdicts, of a contract or of a loop without a service."""

    attempts_used: Annotated[int, Field(ge=0)] = 0
    max_attempts: Annotated[int, Field(ge=1)] = 3
    last_candidate_hash: Sha256 | None = None
    last_outcome: LastOutcome | None = None
    judged: dict[str, Judged] = {}
    """Counted verdicts by candidate hash."""

    @property
    def is_exhausted(self) -> bool:
        """Return True if no attempt is left."""
        return self.attempts_used >= self.max_attempts

    @property
    def best(self) -> Judged | None:
        """Return the best verdict: a pass before others, then the highest score, then the latest; or None."""
        return max(
            self.judged.values(),
            key=lambda each: (each.verdict is Verdict.PASSED, each.weighted_score, each.ordinal),
            default=None,
        )


class ContractState(Frozen):
    """State of one contract and of its current attempt."""

    contract_id: str
    status: ContractStatus = ContractStatus.AWARDED
    verification: VerificationState
    deadline: Instant
    waiting_since: Instant | None
    """Time since which the contract waits for the agent; None while the platform works or after the end."""
    agent_ms: float = 0.0
    """Milliseconds that the contract has waited for the agent in total."""
    current_attempt: str | None = None
    """Id of the attempt that is verified, validated by governance or held."""
    current_hash: Sha256 | None = None
    """Hash of this attempt's candidate."""
    closing: ContractStatus | None = None
    """Final status that the contract gets once governance has decided on the current attempt."""
    cause: CancelCause | None = None
    """Cause of a cancellation; None if the consumer cancelled."""
    finalise_asked: bool = False
    """True once the agent has requested early settlement; an operator's retry may delay it but not undo it."""
    fatal_hash: Sha256 | None = None
    """Hash of the candidate with a fatal rejection; only an operator's retry of this candidate clears it."""
    system_retries: int = 0
    """Number of retries of the current attempt after failures of its verification."""
    received: int = 0
    """Number of received candidates."""
    last_invalid: InvalidCandidate | None = None
    last_feedback: str | None = None
    state_version: int = 0
    updated_at: Instant

    @property
    def is_final(self) -> bool:
        """Return True if the contract has ended."""
        return self.status in FINAL_STATUSES

    @property
    def is_closing(self) -> bool:
        """Return True if the contract only waits for governance's decision on its outcome to end."""
        return self.status is ContractStatus.VERIFYING and self.closing is not None

    @property
    def is_busy(self) -> bool:
        """Return True if a candidate is being verified or is held, so that no other is accepted."""
        return self.status in {ContractStatus.VERIFYING, ContractStatus.HELD}
