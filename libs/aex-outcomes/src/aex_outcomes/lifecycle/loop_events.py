"""Events of a revision loop for its author: a pass, each rejection, and used-up attempts."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from aex_models.frozen import Frozen
from aex_outcomes.feedback import CANDIDATE_REPEATED, REPEATED
from aex_outcomes.lifecycle.context import AgentContext, Exhausted, LoopOutcome, Passed, Reason
from aex_outcomes.lifecycle.ruling import Rejected, Ruling

_USED_UP = frozenset({Reason.MAX_ATTEMPTS, Reason.NO_PROGRESS, Reason.INVALID_OUTPUT})
EventType = Literal["verification_passed", "verification_rejected", "verification_exhausted"]


class LoopEvent(Frozen):
    """Event of a loop, with the fields of the corresponding contract event."""

    type: EventType
    attempts_used: int
    max_attempts: int
    attempt_counted: bool | None = None
    """True if a rejection used an attempt; False for a repeat of a rejected candidate."""
    code: str | None = None
    """Code of a rejection, or the reason of an exhausted loop."""
    message: str | None = None
    """Message of a rejection."""


OnEvent = Callable[[LoopEvent], Any]
"""Function, sync or async, that gets each event after its context is saved."""


@dataclass(frozen=True, slots=True)
class EventReporter:
    """Reporter of a loop's events to the function `on_event`; does nothing if it is None."""

    on_event: OnEvent | None

    async def report_rejected_or_repeated(self, ctx: AgentContext, ruling: Ruling | None, *, counted: bool) -> None:
        """Report a rejected candidate, or a repeated one (ruling None); other rulings are not reported.

        `counted`: the rejection used an attempt.
        """
        if isinstance(ruling, Rejected):
            code, message = ruling.rejection.code, ruling.rejection.message
        elif ruling is None:
            code, message = CANDIDATE_REPEATED, REPEATED
        else:
            return
        await self._report(ctx, "verification_rejected", attempt_counted=counted, code=code, message=message)

    async def report_passed_or_exhausted(self, outcome: LoopOutcome) -> None:
        """Report a passed candidate or a loop without further attempts; other outcomes are not reported."""
        if outcome.context is None:
            return
        if isinstance(outcome, Passed):
            await self._report(outcome.context, "verification_passed")
        if isinstance(outcome, Exhausted) and outcome.reason in _USED_UP:
            await self._report(outcome.context, "verification_exhausted", code=outcome.reason.value)

    async def _report(self, ctx: AgentContext, kind: EventType, **fields: Any) -> None:
        if self.on_event is None:
            return
        used, maximum = ctx.verification.attempts_used, ctx.verification.max_attempts
        result = self.on_event(LoopEvent(type=kind, attempts_used=used, max_attempts=maximum, **fields))
        if inspect.isawaitable(result):
            await result
