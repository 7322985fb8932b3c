"""The state of a contract under verification: a document changed by compare-and-set alone."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from aex_models.contract import FINAL_STATUSES, CancelCause, ContractStatus
from aex_models.frozen import Frozen, Instant, Sha256
from aex_models.results import Verdict

NEVER = datetime.max.replace(tzinfo=UTC)
"""The deadline of a loop without a service."""


class LastOutcome(StrEnum):
    """The result of the last verification."""

    PASSED = "passed"
    REJECTED = "rejected"
    SYSTEM_ERROR = "system_error"


class Judged(Frozen):
    """A candidate with a counted verdict. `ordinal`: its number among the judged candidates, from 1."""

    attempt_id: str
    verdict: Verdict
    weighted_score: float
    ordinal: int


class InvalidCandidate(Frozen):
    """A candidate whose output is not of the verifier's output type: no attempt is used."""

    attempt_id: str
    candidate_hash: Sha256


class VerificationState(Frozen):
    """The accounting of attempts, the same in the service and in a loop without one."""

    attempts_used: Annotated[int, Field(ge=0)] = 0
    max_attempts: Annotated[int, Field(ge=1)] = 3
    last_candidate_hash: Sha256 | None = None
    last_outcome: LastOutcome | None = None
    judged: dict[str, Judged] = {}
    """Candidate hash → verdict of every counted candidate."""

    @property
    def is_exhausted(self) -> bool:
        return self.attempts_used >= self.max_attempts

    @property
    def best(self) -> Judged | None:
        """Return the candidate with the highest weighted score, a pass first, of equals the latest."""
        return max(
            self.judged.values(),
            key=lambda each: (each.verdict is Verdict.PASSED, each.weighted_score, each.ordinal),
            default=None,
        )


class ContractState(Frozen):
    """The state of one contract and of its current attempt."""

    contract_id: str
    status: ContractStatus = ContractStatus.AWARDED
    verification: VerificationState
    deadline: Instant
    waiting_since: Instant | None
    """The start of waiting for the agent; None while the platform works."""
    agent_ms: float = 0.0
    """Milliseconds in which the contract waited for the agent."""
    current_attempt: str | None = None
    """The attempt that is verified, validated or held."""
    current_hash: Sha256 | None = None
    closing: ContractStatus | None = None
    """The final status after governance allows the current attempt."""
    cause: CancelCause | None = None
    """The cause of a cancellation, unless it was the consumer's."""
    finalise_asked: bool = False
    """The agent's early settlement, which an operator's retry may delay but not undo."""
    fatal_hash: Sha256 | None = None
    """The candidate of a fatal rejection; an operator's retry clears it for this candidate alone."""
    system_retries: int = 0
    """The retries of the current attempt."""
    received: int = 0
    last_invalid: InvalidCandidate | None = None
    last_feedback: str | None = None
    state_version: int = 0
    updated_at: Instant

    @property
    def is_final(self) -> bool:
        return self.status in FINAL_STATUSES

    @property
    def is_closing(self) -> bool:
        """Return True when the contract only waits for governance's decision to end."""
        return self.status is ContractStatus.VERIFYING and self.closing is not None

    @property
    def is_busy(self) -> bool:
        """Return True while a candidate is verified or held."""
        return self.status in {ContractStatus.VERIFYING, ContractStatus.HELD}
