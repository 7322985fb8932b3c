"""What a producer and a verifier are told beside the output."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import JsonValue, ValidationInfo, field_validator

from aex_models.contract import Candidate
from aex_models.frozen import Frozen
from aex_outcomes.claim_texts import claims_restored
from aex_outcomes.clock import Clock
from aex_outcomes.lifecycle.ruling import Rejection
from aex_outcomes.lifecycle.state import VerificationState


class Progress(Frozen):
    """Where a loop stands between two attempts: what it needs to go on after it was killed."""

    claim_texts: dict[str, str] = {}
    """The candidate's claims that JSON would not give back as they were written: 11.170 claims three decimals."""
    candidate: Candidate | None = None
    """Produced, and not judged yet."""
    replays: int = 0
    """How often in a row the producer has repeated a candidate that was rejected."""
    invalid: int = 0
    """How often in a row its output did not validate."""
    last_rejection: Rejection | None = None
    failed: Rejection | None = None
    """The fatal error that has ended the loop for good."""

    @field_validator("candidate")
    @classmethod
    def _as_it_was_written(cls, candidate: Candidate | None, info: ValidationInfo) -> Candidate | None:
        texts = info.data.get("claim_texts")
        if candidate is None or not texts:
            return candidate
        return candidate.model_copy(update={"claimed_values": claims_restored(candidate.claimed_values, texts)})


class AgentContext(Frozen):
    """The agent's side of one contract, or of one loop. All of it is JSON: `model_dump_json`, `model_validate_json`.

    A producer may append to `messages` what it wants to find there in its next turn: its own answer, tool calls.
    """

    query: JsonValue
    """What is asked for: a loop's text; in a service the work's input."""
    messages: list[dict[str, Any]] = []
    """The conversation in the form of chat completions: `{"role": …, "content": …}`, feedback included."""
    turn: int = 0
    """How often the agent was asked, from 1."""
    output: Any = None
    """The last output, as JSON."""
    attempt: int = 1
    """The how-manieth attempt is under way, from 1: invalid outputs, repeats and crashes do not count."""
    verification: VerificationState = VerificationState()
    progress: Progress = Progress()


@dataclass(frozen=True, slots=True)
class ExecutionContext:
    """The platform's side of one attempt. Where there is no service, there is no such context: it is None."""

    contract_id: str
    work_id: str
    agent_id: str
    attempt_id: str
    deadline: datetime
    clock: Clock
