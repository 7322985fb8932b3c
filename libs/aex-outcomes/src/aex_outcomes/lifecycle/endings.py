"""How a loop ends."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from aex_outcomes.lifecycle.context import AgentContext
from aex_outcomes.lifecycle.rejection import VerificationRejected


class Reason(StrEnum):
    """Why a loop gave up."""

    MAX_ATTEMPTS = "max_attempts"
    """That many different candidates were rejected."""
    NO_PROGRESS = "no_progress"
    """The producer kept repeating a candidate that was rejected."""
    INVALID_OUTPUT = "invalid_output"
    """The producer kept giving outputs that are not of the output type."""
    EXPIRED = "expired"
    """The contract's deadline is over. Like those below, of live contracts alone."""
    FINALISED = "finalised"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Passed:
    """A candidate has passed. `result` is what the verifier returned."""

    result: Any
    context: AgentContext | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Exhausted:
    """No candidate has passed. `last_rejection`: the last one, where any candidate was rejected."""

    reason: Reason
    last_rejection: VerificationRejected | None = None
    context: AgentContext | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Failed:
    """A fatal error of the verifier or the producer, or a verifier that kept crashing."""

    error: Exception
    context: AgentContext | None = field(default=None, compare=False, repr=False)


Ending = Passed | Exhausted | Failed
