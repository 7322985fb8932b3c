"""Contexts that a producer and a verifier get, and the outcomes of a revision loop."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import JsonValue, ValidationInfo, field_validator

from aex_models.clock import Clock
from aex_models.contract import Candidate, ContractStatus
from aex_models.frozen import Frozen
from aex_outcomes.json_values import restore_claim_texts
from aex_outcomes.lifecycle.rejection import VerificationRejected
from aex_outcomes.lifecycle.ruling import Rejection
from aex_outcomes.lifecycle.state import VerificationState


class Progress(Frozen):
    """State of a loop that is saved with its context, so that a killed loop can continue."""

    claim_texts: dict[str, str] = {}
    """Texts of claimed numbers that JSON does not preserve: 11.170 claims three decimals."""
    candidate: Candidate | None = None
    """Candidate that has no verdict yet."""
    replays: int = 0
    """Consecutive repeats of rejected candidates."""
    invalid: int = 0
    """Consecutive outputs that did not validate."""
    last_rejection: Rejection | None = None
    failed: Rejection | None = None
    """Fatal error that ended the loop."""

    @field_validator("candidate")
    @classmethod
    def _restore_claims(cls, candidate: Candidate | None, info: ValidationInfo) -> Candidate | None:
        texts = info.data.get("claim_texts")
        if candidate is None or not texts:
            return candidate
        return candidate.model_copy(update={"claimed_values": restore_claim_texts(candidate.claimed_values, texts)})


class AgentContext(Frozen):
    """Context that an agent gets for each turn, and that a loop saves; it converts to JSON and back.

    A producer may append to `messages` what it needs in its next turn, such as its own answer or tool calls.
    """

    query: JsonValue
    """Query of the loop: any JSON value, or the input of a work."""
    messages: list[dict[str, Any]] = []
    """Conversation with feedback, in the form of chat completions: `{"role": …, "content": …}`."""
    turn: int = 0
    """Number of calls of the agent so far."""
    output: Any = None
    """Last output, as JSON."""
    attempt: int = 1
    """Number of the current attempt, from 1; invalid outputs, repeats and crashes do not count."""
    verification: VerificationState = VerificationState()
    progress: Progress = Progress()


@dataclass(frozen=True, slots=True)
class ExecutionContext:
    """Facts about an attempt that the platform gives a verifier; a loop without a service may have none."""

    contract_id: str
    work_id: str
    agent_id: str
    attempt_id: str
    deadline: datetime
    clock: Clock


class Reason(StrEnum):
    """Reason why a loop ended without a passed candidate."""

    MAX_ATTEMPTS = "max_attempts"
    """Different rejected candidates used up the attempts."""
    NO_PROGRESS = "no_progress"
    """The producer repeated rejected candidates too often."""
    INVALID_OUTPUT = "invalid_output"
    """Too many outputs in a row did not validate."""
    EXPIRED = "expired"
    """The contract's deadline is over. This and the following reasons occur only with live contracts."""
    FINALISED = "finalised"
    CANCELLED = "cancelled"


REASONS = {
    ContractStatus.EXHAUSTED: Reason.MAX_ATTEMPTS,
    ContractStatus.EXPIRED: Reason.EXPIRED,
    ContractStatus.FINALISED: Reason.FINALISED,
    ContractStatus.CANCELLED: Reason.CANCELLED,
}


@dataclass(frozen=True, slots=True)
class Passed:
    """Outcome of a loop with a passed candidate; `result` is the verifier's return value."""

    result: Any
    context: AgentContext | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Exhausted:
    """Outcome of a loop without a passed candidate; `last_rejection` is None if none was rejected."""

    reason: Reason
    last_rejection: VerificationRejected | None = None
    context: AgentContext | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Failed:
    """Outcome of a loop after a fatal error of verifier or producer, or too many crashes of the verifier."""

    error: Exception
    context: AgentContext | None = field(default=None, compare=False, repr=False)


LoopOutcome = Passed | Exhausted | Failed


def build_exhausted_outcome(reason: Reason, ctx: AgentContext, raised: VerificationRejected | None = None) -> Exhausted:
    """Return the outcome of a loop without a passed candidate, with its last rejection.

    `raised`: the exception if this process raised it; else it is rebuilt from the saved context.
    """
    last = ctx.progress.last_rejection
    if raised is None and last is not None:
        raised = VerificationRejected(last.message, last.code, last.metadata)
    return Exhausted(reason, raised, ctx)
