"""A verifier on this machine as a loop's gate: the service's transitions, on the accounting that the loop carries."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from copy import deepcopy
from datetime import datetime, timedelta

import structlog

from aex_models.backoff import Backoff
from aex_models.contract import Candidate, ContractStatus
from aex_models.results import Verdict
from aex_models.work import FeedbackLevel
from aex_outcomes.clock import Clock, WallClock
from aex_outcomes.feedback import render_feedback, render_invalid
from aex_outcomes.lifecycle.context import AgentContext, ExecutionContext
from aex_outcomes.lifecycle.gate import Step
from aex_outcomes.lifecycle.hashing import candidate_hash
from aex_outcomes.lifecycle.output_type import InvalidOutput
from aex_outcomes.lifecycle.rejection import FatalAgentError, VerificationRejected
from aex_outcomes.lifecycle.ruling import RULING, Accepted, Invalid, Rejected, Ruling
from aex_outcomes.lifecycle.ruling_json import ruling_json
from aex_outcomes.lifecycle.state import NEVER, ContractState, VerificationState
from aex_outcomes.lifecycle.transitions import failed_to_verify, found_invalid, judged, opened, received
from aex_outcomes.lifecycle.verifier import CheckedVerifier, ruling_of
from aex_outcomes.named_code import said_by

BACKOFF = Backoff(first=timedelta(seconds=0.2), cap=timedelta(seconds=30))
"""How long a loop waits for a verifier that crashed."""
_log = structlog.get_logger(__name__)


class LocalGate:
    """Judges with a checked verifier. One that crashes is asked again, with growing pauses and within bounds."""

    def __init__(
        self,
        verifier: CheckedVerifier,
        *,
        max_system_retries: int = 5,
        feedback: FeedbackLevel = FeedbackLevel.CRITERIA,
        execution_ctx: ExecutionContext | None = None,
        backoff: Backoff = BACKOFF,
        clock: Clock | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._verifier = verifier
        self._max_system_retries = max_system_retries
        self._feedback = feedback
        self._execution_ctx = execution_ctx
        self._backoff = backoff
        self._clock = clock or WallClock()
        self._sleep = sleep
        self._jitter = jitter

    async def opened(self, ctx: AgentContext) -> AgentContext:
        """The accounting of a loop on this machine is what its context carries."""
        return ctx

    async def judge(self, candidate: Candidate, ctx: AgentContext, *, resumed: bool) -> Step:  # noqa: ARG002 see below
        """Judge a candidate, unless it was rejected before.

        Candidate and accounting are saved as one: what a loop resumes with was judged before only if it is a repeat,
        and a candidate without an attempt left for it comes from a context that somebody has changed.
        """
        if ctx.verification.exhausted:
            return Step(ctx.verification, ending=ContractStatus.EXHAUSTED)
        digest = candidate_hash(candidate)
        before = ctx.verification.judged.get(digest)
        if before is not None and before.verdict is Verdict.REJECTED:
            return Step(ctx.verification)
        state = received(_state_of(ctx, self._now()), f"att_{ctx.turn}", digest, self._now())
        while True:
            try:
                ruling, raised = await self._ruling(candidate, ctx)
            except Exception as error:  # noqa: BLE001 whatever a verifier raises is told to the caller at the end
                state = failed_to_verify(state, self._max_system_retries, self._now())
                if state.status is ContractStatus.HELD:
                    return Step(state.verification, ending=ContractStatus.FAILED, error=error)
                ctx = ctx.model_copy(update={"verification": state.verification})
                await self._wait(state, error)
            else:
                return self._step(state, ruling, raised)

    async def _ruling(self, candidate: Candidate, ctx: AgentContext) -> tuple[Ruling, Exception | None]:
        """The verifier's word, a rejection bounded as in a service, and what the verifier raised."""
        own, asked = deepcopy((candidate, ctx))  # a verifier may do to them what it likes, and is asked again with ours
        try:
            return Accepted(final_result=await self._verifier.verify(own, asked, self._execution_ctx)), None
        except (InvalidOutput, VerificationRejected, FatalAgentError) as verdict:
            return RULING.validate_python(ruling_json(ruling_of(verdict), "of the loop")), verdict

    def _step(self, state: ContractState, ruling: Ruling, raised: Exception | None) -> Step:
        now = self._now()
        if isinstance(ruling, Accepted):
            state = judged(state, Verdict.PASSED, 1.0, now)
            return Step(state.verification, ruling, ending=state.closing)
        if isinstance(ruling, Invalid):
            return Step(found_invalid(state, now).verification, ruling, render_invalid(ruling.errors))
        score = ruling.result.weighted_score if ruling.result else 0.0
        state = judged(state, Verdict.REJECTED, score, now, fatal=ruling.fatal)
        told = self._told(ruling, state.verification)
        return Step(
            state.verification,
            ruling,
            told,
            state.closing,
            error=raised if ruling.fatal else None,
            raised=raised if isinstance(raised, VerificationRejected) else None,
        )

    def _told(self, ruling: Rejected, verification: VerificationState) -> str:
        return render_feedback(
            ruling.result,
            attempt=verification.attempts_used,
            max_attempts=verification.max_attempts,
            level=self._feedback,
            code=ruling.rejection.code,
            message=ruling.rejection.message,
            metadata=ruling.rejection.metadata,
        )

    async def _wait(self, state: ContractState, error: Exception) -> None:
        delay_s = self._backoff.delay(state.system_retries, self._jitter()).total_seconds()
        _log.warning(
            "verifier_crashed",
            attempt=state.current_attempt,
            retry=state.system_retries,
            max_system_retries=self._max_system_retries,
            retry_in_s=round(delay_s, 3),
            error=said_by(error),
        )
        await self._sleep(delay_s)

    def _now(self) -> datetime:
        return self._clock.now()


def _state_of(ctx: AgentContext, now: datetime) -> ContractState:
    """The loop's state as the transitions know it: it waits for a candidate, and for no deadline."""
    fresh = opened("loop", ctx.verification.max_attempts, NEVER, now)
    return fresh.model_copy(update={"verification": ctx.verification})
