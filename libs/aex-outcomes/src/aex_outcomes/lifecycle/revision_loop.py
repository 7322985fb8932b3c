"""Revision loop without a service: a verifier in this process, with contracts' state transitions."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from copy import deepcopy
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog

from aex_models.backoff import Backoff
from aex_models.clock import Clock, WallClock
from aex_models.contract import Candidate, ContractStatus
from aex_models.results import Verdict
from aex_models.work import FeedbackLevel
from aex_outcomes.feedback import render_feedback, render_invalid_output
from aex_outcomes.lifecycle.context import AgentContext, ExecutionContext, LoopOutcome
from aex_outcomes.lifecycle.loop import (
    MAX_INVALID,
    MAX_REPLAYS,
    Loop,
    LoopStep,
    Produce,
    Save,
    require_integer_at_least,
)
from aex_outcomes.lifecycle.loop_events import OnEvent
from aex_outcomes.lifecycle.messages import to_storable_query
from aex_outcomes.lifecycle.output_type import InvalidOutput
from aex_outcomes.lifecycle.outputs import candidate_hash
from aex_outcomes.lifecycle.rejection import FatalAgentError, VerificationRejected
from aex_outcomes.lifecycle.ruling import RULING, Accepted, Invalid, Ruling, serialize_ruling
from aex_outcomes.lifecycle.state import NEVER, ContractState, VerificationState
from aex_outcomes.lifecycle.transitions import (
    apply_verdict,
    count_system_failure_or_hold,
    create_state,
    receive_candidate,
    record_invalid_output,
)
from aex_outcomes.lifecycle.verifier import CheckedVerifier, ruling_from_exception
from aex_outcomes.named_code import describe_error

BACKOFF = Backoff(first=timedelta(seconds=0.2), cap=timedelta(seconds=30))
"""Pauses before a crashed verifier is retried."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class LocalGate:
    """Gate that runs a checked verifier in this process, and retries a crashed one with growing pauses."""

    verifier: CheckedVerifier
    max_system_retries: int
    feedback: FeedbackLevel
    execution_ctx: ExecutionContext | None
    backoff: Backoff
    clock: Clock
    sleep: Callable[[float], Awaitable[object]]
    jitter: Callable[[], float]

    async def load_verification_state(self, ctx: AgentContext) -> AgentContext:
        """Return the context unchanged: it has all attempts already."""
        return ctx

    async def verify_and_count_attempt(self, candidate: Candidate, ctx: AgentContext, *, resumed: bool) -> LoopStep:  # noqa: ARG002 protocol
        """Verify a candidate and count its attempt; retry a crashed verifier after pauses.

        A candidate that was rejected before is not verified, also if `resumed`: candidate and count are saved together.
        After more than `max_system_retries` crashes the step fails with the last exception.
        """
        if ctx.verification.is_exhausted:
            return LoopStep(ctx.verification, ending=ContractStatus.EXHAUSTED)
        digest = candidate_hash(candidate)
        before = ctx.verification.judged.get(digest)
        if before is not None and before.verdict is Verdict.REJECTED:
            return LoopStep(ctx.verification)
        waiting = create_state("loop", ctx.verification.max_attempts, NEVER, self.clock.now())
        waiting = waiting.model_copy(update={"verification": ctx.verification})
        state = receive_candidate(waiting, f"att_{ctx.turn}", digest, self.clock.now())
        while True:
            try:
                ruling, raised = await self._ruling(candidate, ctx)
            except Exception as error:  # noqa: BLE001 a verifier may raise anything; the outcome carries it
                state = count_system_failure_or_hold(state, self.max_system_retries, self.clock.now())
                if state.status is ContractStatus.HELD:
                    return LoopStep(state.verification, ending=ContractStatus.FAILED, error=error)
                ctx = ctx.model_copy(update={"verification": state.verification})
                await self._wait(state, error)
            else:
                return self._step(state, ruling, raised)

    async def _ruling(self, candidate: Candidate, ctx: AgentContext) -> tuple[Ruling, Exception | None]:
        """Return the verifier's ruling, its texts cut as in a service, and its exception; None if it accepted."""
        copies = deepcopy((candidate, ctx))  # a verifier may modify its copies; a retry gets fresh ones
        try:
            return Accepted(final_result=await self.verifier.verify(*copies, self.execution_ctx)), None
        except (InvalidOutput, VerificationRejected, FatalAgentError) as verdict:
            return RULING.validate_python(serialize_ruling(ruling_from_exception(verdict), "of the loop")), verdict

    def _step(self, state: ContractState, ruling: Ruling, raised: Exception | None) -> LoopStep:
        now = self.clock.now()
        if isinstance(ruling, Accepted):
            state = apply_verdict(state, Verdict.PASSED, 1.0, now)
            return LoopStep(state.verification, ruling, ending=state.closing)
        if isinstance(ruling, Invalid):
            return LoopStep(
                record_invalid_output(state, now).verification, ruling, render_invalid_output(ruling.errors)
            )
        score = ruling.result.weighted_score if ruling.result else 0.0
        state = apply_verdict(state, Verdict.REJECTED, score, now, fatal=ruling.fatal)
        feedback = render_feedback(
            ruling.result,
            attempt=state.verification.attempts_used,
            max_attempts=state.verification.max_attempts,
            level=self.feedback,
            always_with_metadata=True,  # the loop's author wrote both verifier and agent: nothing is kept from it
            **dict(ruling.rejection),
        )
        error = raised if ruling.fatal else None
        rejected = raised if isinstance(raised, VerificationRejected) else None
        return LoopStep(state.verification, ruling, feedback, state.closing, error, rejected)

    async def _wait(self, state: ContractState, error: Exception) -> None:
        delay_s = self.backoff.delay(state.system_retries, self.jitter()).total_seconds()
        _log.warning(
            "verifier_crashed",
            attempt=state.current_attempt,
            retry=state.system_retries,
            max_system_retries=self.max_system_retries,
            retry_in_s=round(delay_s, 3),
            error=describe_error(error),
        )
        await self.sleep(delay_s)


class RevisionLoop:
    """Loop in which an agent revises its output until a verifier accepts it or the attempts are used up.

    `produce(agent_ctx)` is the agent: it returns an output, or a `Candidate` with claims. `agent_ctx.messages` has the
    feedback on earlier outputs. Sync functions run in the event loop and block it. `max_attempts`: number of rejected
    candidates that ends the loop.
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
        on_event: OnEvent | None = None,
        execution_ctx: ExecutionContext | None = None,
        backoff: Backoff = BACKOFF,
        clock: Clock | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Build a loop. Raises `ValueError` for an invalid verifier, output type, producer or bound.

        `max_replays`: repeats of rejected candidates in a row, the last of which ends the loop. `max_invalid`: outputs
        in a row that may fail to validate. `max_system_retries`: retries of a crashing verifier, after pauses by
        `backoff`. `feedback`: level of detail of the agent's feedback. `save` gets the context after every message.
        `on_event` gets a `LoopEvent` for a pass, each rejection and used-up attempts. Without a verifier every output
        passes if it validates into the output type.
        """
        gate = LocalGate(
            _check_verifier(verifier, output_type),
            require_integer_at_least("max_system_retries", max_system_retries, 0),
            FeedbackLevel(feedback),
            execution_ctx,
            backoff,
            clock or WallClock(),
            sleep,
            jitter,
        )
        self._budget = require_integer_at_least("max_attempts", max_attempts, 1)
        self._loop = Loop(produce, gate, max_replays=max_replays, max_invalid=max_invalid, save=save, on_event=on_event)

    async def run(self, query: Any) -> LoopOutcome:
        """Run the loop and return `Passed(result)`, `Exhausted(reason, last_rejection)` or `Failed(error)`.

        Exceptions of the producer are raised, except a `FatalAgentError`, which gives `Failed`; the loop can then
        resume from the last saved context. Raises `TypeError` for a query that JSON cannot represent.
        """
        budget = VerificationState(max_attempts=self._budget)
        return await self._loop.run_from(AgentContext(query=to_storable_query(query), verification=budget))

    async def resume(self, ctx: AgentContext) -> LoopOutcome:
        """Continue from a saved context, `AgentContext.model_validate_json(text)`, with its attempts counted."""
        return await self._loop.run_from(ctx)


def _check_verifier(verifier: Callable[..., Any] | None, output_type: Any) -> CheckedVerifier:
    if verifier is None:
        return CheckedVerifier(_accept, Any if output_type is None else output_type)
    return CheckedVerifier(verifier, output_type)


def _accept(output: Any) -> Any:
    return output
