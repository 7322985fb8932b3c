"""The state of a contract under verification: one document, changed by compare-and-set alone."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from aex_models.contract import FINAL_STATUSES, ContractStatus
from aex_models.frozen import Frozen, Instant, Sha256
from aex_models.results import Verdict

NEVER = datetime.max.replace(tzinfo=UTC)
"""The deadline of a loop on a laptop."""


class LastOutcome(StrEnum):
    """How the last verification ended."""

    PASSED = "passed"
    REJECTED = "rejected"
    SYSTEM_ERROR = "system_error"


class Judged(Frozen):
    """A candidate that was judged, and counted."""

    attempt_id: str
    verdict: Verdict
    weighted_score: float
    ordinal: int
    """The how-manieth judged candidate of the contract it is, from 1."""


class InvalidCandidate(Frozen):
    """A candidate whose output the verifier's output type does not take: no attempt, and nothing to do twice."""

    attempt_id: str
    candidate_hash: Sha256


class VerificationState(Frozen):
    """The attempt accounting: serialisable, and the same in the service and in a loop on a laptop."""

    attempts_used: Annotated[int, Field(ge=0)] = 0
    max_attempts: Annotated[int, Field(ge=1)] = 3
    last_candidate_hash: Sha256 | None = None
    last_outcome: LastOutcome | None = None
    judged: dict[str, Judged] = {}
    """Candidate hash → verdict, for every candidate that was counted."""

    @property
    def exhausted(self) -> bool:
        """Whether no attempt is left."""
        return self.attempts_used >= self.max_attempts

    @property
    def best(self) -> Judged | None:
        """The judged candidate with the highest weighted score; of equals the latest. A pass beats any score."""
        ranked = sorted(
            self.judged.values(), key=lambda each: (each.verdict is Verdict.PASSED, each.weighted_score, each.ordinal)
        )
        return ranked[-1] if ranked else None


class ContractState(Frozen):
    """Where one contract stands, and what is under way."""

    contract_id: str
    status: ContractStatus = ContractStatus.AWARDED
    verification: VerificationState
    deadline: Instant
    waiting_since: Instant | None
    """Since when the contract waits for the agent; None while the platform works."""
    agent_ms: float = 0.0
    """The sum of the spans in which the contract waited for the agent, in milliseconds."""
    current_attempt: str | None = None
    """The attempt that is verified, validated or held."""
    current_hash: Sha256 | None = None
    closing: ContractStatus | None = None
    """The final status that the contract reaches once governance has allowed the current attempt."""
    finalise_asked: bool = False
    """The agent has settled early: what an operator's retry may delay, but not undo."""
    fatal_hash: Sha256 | None = None
    """The candidate after which the verifier wants no other: an operator's retry undoes that for this one alone."""
    system_retries: int = 0
    """Of the current attempt."""
    received: int = 0
    """How many candidates were taken in."""
    last_invalid: InvalidCandidate | None = None
    last_feedback: str | None = None
    state_version: int = 0
    updated_at: Instant

    @property
    def final(self) -> bool:
        """Whether nothing can change any more."""
        return self.status in FINAL_STATUSES

    @property
    def closes(self) -> bool:
        """Whether the contract is about to end, and waits for governance's word."""
        return self.status is ContractStatus.VERIFYING and self.closing is not None

    @property
    def busy(self) -> bool:
        """Whether a candidate is under verification or held: others have to wait."""
        return self.status in {ContractStatus.VERIFYING, ContractStatus.HELD}
