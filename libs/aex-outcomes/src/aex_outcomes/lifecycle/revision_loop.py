"""The loop for a laptop: an agent of one's own behind a verifier of one's own, with no service at all."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

from aex_models.backoff import Backoff
from aex_models.work import FeedbackLevel
from aex_outcomes.clock import Clock
from aex_outcomes.lifecycle.context import AgentContext, ExecutionContext
from aex_outcomes.lifecycle.endings import Ending
from aex_outcomes.lifecycle.local_gate import BACKOFF, LocalGate
from aex_outcomes.lifecycle.loop import MAX_INVALID, MAX_REPLAYS, Loop, Produce, Save, at_least
from aex_outcomes.lifecycle.messages import query_json
from aex_outcomes.lifecycle.state import VerificationState
from aex_outcomes.lifecycle.verifier import CheckedVerifier


class RevisionLoop:
    """Has an agent revise its output until the verifier accepts it, with at most `max_attempts` rejections.

    `produce(agent_ctx)` is the agent: it returns an output, or a `Candidate` with claims; `agent_ctx.messages` carries
    the feedback. Sync functions are called in place, and hold up the event loop while they run.
    """

    def __init__(
        self,
        produce: Produce,
        *,
        output_type: Any = None,
        verifier: Callable[..., Any] | None = None,
        max_attempts: int = 3,
        max_replays: int = MAX_REPLAYS,
        max_invalid: int = MAX_INVALID,
        max_system_retries: int = 5,
        feedback: FeedbackLevel | str = FeedbackLevel.CRITERIA,
        save: Save | None = None,
        execution_ctx: ExecutionContext | None = None,
        backoff: Backoff = BACKOFF,
        clock: Clock | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Raises `ValueError` for what could not be served later: verifier, output type, producer, bounds.

        `max_replays`: repeats in a row of rejected candidates, the last of which ends the loop. `max_invalid`: outputs
        in a row that may fail to validate. `max_system_retries`: of a verifier that crashes, with `backoff`.
        `feedback`: how much of a rejection the agent is told. `save`: given the context after every message.
        """
        if verifier is None:
            raise ValueError("verifier is missing: give a function of the output that raises VerificationRejected")
        gate = LocalGate(
            CheckedVerifier(verifier, output_type),
            max_system_retries=at_least("max_system_retries", max_system_retries, 0),
            feedback=FeedbackLevel(feedback),
            execution_ctx=execution_ctx,
            backoff=backoff,
            clock=clock,
            sleep=sleep,
            jitter=jitter,
        )
        self._budget = at_least("max_attempts", max_attempts, 1)
        self._loop = Loop(produce, gate, max_replays=max_replays, max_invalid=max_invalid, save=save)

    async def run(self, query: Any) -> Ending:
        """`Passed(result)`, `Exhausted(reason, last_rejection)` or `Failed(error)`.

        What the producer raises comes out as it is, unless it is a `FatalAgentError`; what `save` got last goes on.
        Raises `TypeError` for a query that has no JSON form, or none that can be read back.
        """
        budget = VerificationState(max_attempts=self._budget)
        return await self._loop.resume(AgentContext(query=query_json(query), verification=budget))

    async def resume(self, ctx: AgentContext) -> Ending:
        """Go on from what was saved: `AgentContext.model_validate_json(text)`. The budget is the saved one."""
        return await self._loop.resume(ctx)
