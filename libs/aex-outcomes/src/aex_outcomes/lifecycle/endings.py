"""How a loop ends."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from aex_models.contract import ContractStatus
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


REASONS = {
    ContractStatus.EXHAUSTED: Reason.MAX_ATTEMPTS,
    ContractStatus.EXPIRED: Reason.EXPIRED,
    ContractStatus.FINALISED: Reason.FINALISED,
    ContractStatus.CANCELLED: Reason.CANCELLED,
}
"""Why a loop gave up whose contract has ended so."""


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


def exhausted(reason: Reason, ctx: AgentContext, raised: VerificationRejected | None = None) -> Exhausted:
    """With what the verifier raised: rebuilt where that was elsewhere, or before the loop was resumed."""
    last = ctx.progress.last_rejection
    if raised is None and last is not None:
        raised = VerificationRejected(last.message, last.code, last.metadata)
    return Exhausted(reason, raised, ctx)
