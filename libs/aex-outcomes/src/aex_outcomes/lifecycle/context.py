"""The contexts of a producer and of a verifier, and the outcomes of a loop."""

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
    """The progress of a loop between two attempts, from which a killed loop resumes.

    `candidate`: one without a verdict. `replays`: consecutive repeats of a rejected candidate. `invalid`: consecutive
    outputs that did not validate.
    """

    claim_texts: dict[str, str] = {}
    """The texts of claims that JSON does not preserve: 11.170 claims three decimals."""
    candidate: Candidate | None = None
    replays: int = 0
    invalid: int = 0
    last_rejection: Rejection | None = None
    failed: Rejection | None = None
    """The fatal error that ended the loop."""

    @field_validator("candidate")
    @classmethod
    def _restore_claims(cls, candidate: Candidate | None, info: ValidationInfo) -> Candidate | None:
        texts = info.data.get("claim_texts")
        if candidate is None or not texts:
            return candidate
        return candidate.model_copy(update={"claimed_values": restore_claim_texts(candidate.claimed_values, texts)})


class AgentContext(Frozen):
    """The agent's side of a contract or a loop, in JSON: `model_dump_json`, `model_validate_json`.

    A producer may append to `messages` what it needs in its next turn: its own answer, tool calls.
    """

    query: JsonValue
    """The query: a loop's text, or the input of a work."""
    messages: list[dict[str, Any]] = []
    """The conversation, feedback included, as chat completions: `{"role": …, "content": …}`."""
    turn: int = 0
    """The number of calls of the agent."""
    output: Any = None
    """The last output, as JSON."""
    attempt: int = 1
    """The number of the current attempt, from 1; invalid outputs, repeats and crashes do not count."""
    verification: VerificationState = VerificationState()
    progress: Progress = Progress()


@dataclass(frozen=True, slots=True)
class ExecutionContext:
    """The platform's side of an attempt. Without a service it is None."""

    contract_id: str
    work_id: str
    agent_id: str
    attempt_id: str
    deadline: datetime
    clock: Clock


class Reason(StrEnum):
    """The reason of a loop that ended without success."""

    MAX_ATTEMPTS = "max_attempts"
    """The attempts are used up by different rejected candidates."""
    NO_PROGRESS = "no_progress"
    """The producer repeated a rejected candidate."""
    INVALID_OUTPUT = "invalid_output"
    EXPIRED = "expired"
    """The contract's deadline is over. This and the following are of live contracts alone."""
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
    """A passed candidate; `result` is the verifier's return value."""

    result: Any
    context: AgentContext | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Exhausted:
    """A loop without a passed candidate; `last_rejection` is the last rejection, if any."""

    reason: Reason
    last_rejection: VerificationRejected | None = None
    context: AgentContext | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Failed:
    """A fatal error of verifier or producer, or a verifier that kept crashing."""

    error: Exception
    context: AgentContext | None = field(default=None, compare=False, repr=False)


LoopOutcome = Passed | Exhausted | Failed


def build_exhausted_outcome(reason: Reason, ctx: AgentContext, raised: VerificationRejected | None = None) -> Exhausted:
    """Return the outcome with the last rejection, rebuilt when it was raised elsewhere or before a resume."""
    last = ctx.progress.last_rejection
    if raised is None and last is not None:
        raised = VerificationRejected(last.message, last.code, last.metadata)
    return Exhausted(reason, raised, ctx)
