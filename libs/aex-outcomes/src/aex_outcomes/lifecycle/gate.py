"""Who judges a loop's candidates: a verifier on this machine, or a live contract."""

from dataclasses import dataclass
from typing import Protocol

from aex_models.contract import Candidate, ContractStatus
from aex_outcomes.lifecycle.context import AgentContext
from aex_outcomes.lifecycle.rejection import VerificationRejected
from aex_outcomes.lifecycle.ruling import Ruling
from aex_outcomes.lifecycle.state import VerificationState


@dataclass(frozen=True, slots=True)
class Step:
    """What one candidate came to."""

    verification: VerificationState
    """The accounting after it."""
    ruling: Ruling | None = None
    """None for a repeat of a candidate that was judged before: it was not judged again."""
    feedback: str | None = None
    """What the producer is told, unless it passed."""
    ending: ContractStatus | None = None
    """The final status, where the loop is over."""
    error: Exception | None = None
    """Why, where it has failed."""
    raised: VerificationRejected | None = None
    """What the verifier raised, where it runs on this machine and has rejected."""


class Gate(Protocol):
    """Judges candidates, one after the other."""

    async def opened(self, ctx: AgentContext) -> AgentContext:
        """The context with the accounting as the gate has it, before the first or a resumed turn.

        A gate that keeps none of its own leaves it as it is.
        """
        ...

    async def judge(self, candidate: Candidate, ctx: AgentContext, *, resumed: bool) -> Step:
        """Judge a candidate. `resumed`: the loop was killed before it read the answer, so that it is no repeat."""
        ...
