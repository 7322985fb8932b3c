"""Revision loop: a producer gets feedback on candidates until one passes or its attempts are used up."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from aex_models.contract import Candidate, ContractStatus
from aex_models.work import Problem
from aex_outcomes.feedback import render_invalid_output, render_repeat_feedback
from aex_outcomes.json_values import find_claim_texts_lost_in_storage
from aex_outcomes.lifecycle.context import (
    REASONS,
    AgentContext,
    Failed,
    LoopOutcome,
    Passed,
    Progress,
    Reason,
    build_exhausted_outcome,
)
from aex_outcomes.lifecycle.loop_events import EventReporter, OnEvent
from aex_outcomes.lifecycle.messages import Message, append_answer_if_missing, append_feedback, make_chat_message
from aex_outcomes.lifecycle.outputs import find_candidate_problem, parse_producer_result
from aex_outcomes.lifecycle.rejection import FatalAgentError, VerificationRejected, find_verdict_in_group
from aex_outcomes.lifecycle.ruling import Accepted, Invalid, Rejected, Rejection, Ruling
from aex_outcomes.lifecycle.state import VerificationState
from aex_outcomes.lifecycle.verifier import rejection_from_fatal_error


@dataclass(frozen=True, slots=True)
class LoopStep:
    """Result of verifying one candidate."""

    verification: VerificationState
    """Count of attempts after the verification."""
    ruling: Ruling | None = None
    """Ruling; None for a repeat of a rejected candidate, which is not verified."""
    feedback: str | None = None
    ending: ContractStatus | None = None
    """Final status if the loop is over."""
    error: Exception | None = None
    """Error of a failed loop."""
    raised: VerificationRejected | None = None
    """Rejection as raised by a verifier in this process."""


class Gate(Protocol):
    """Gate that verifies the candidates of a loop, one after the other."""

    async def load_verification_state(self, ctx: AgentContext) -> AgentContext:
        """Return the context with the attempts that the gate knows; called before the first or a resumed turn."""
        ...

    async def verify_and_count_attempt(self, candidate: Candidate, ctx: AgentContext, *, resumed: bool) -> LoopStep:
        """Verify a candidate and count its attempt.

        `resumed`: the candidate comes from a saved context and may have a verdict that the loop did not read; it is
        then no repeat.
        """
        ...


Produce = Callable[[AgentContext], Any]
"""Agent as a function, sync or async, from the context to its output or a `Candidate` with claims."""
Save = Callable[[AgentContext], Any]
"""Function, sync or async, that stores the context."""
MAX_REPLAYS, MAX_INVALID = 3, 5
_NO_CANDIDATE: dict[str, Any] = {"candidate": None, "claim_texts": {}}


class Loop:
    """Loop over a gate, which is a live contract or a verifier in this process (see `RevisionLoop`)."""

    def __init__(
        self,
        produce: Produce,
        gate: Gate,
        *,
        max_replays: int = MAX_REPLAYS,
        max_invalid: int = MAX_INVALID,
        save: Save | None = None,
        on_event: OnEvent | None = None,
    ) -> None:
        """Keep the parts of the loop. Raises `ValueError` for an unusable producer or a bound that is too low.

        `max_replays`: repeats of rejected candidates in a row, the last of which ends the loop. `max_invalid`: outputs
        in a row that may fail to validate. `save` gets the context after every message and after a fatal error;
        `run_from` continues with a saved one. `on_event` gets rejections, repeats, a pass and used-up attempts.
        Exceptions of `save` and `on_event` end the loop.
        """
        _check_producer(produce)
        self._produce = produce
        self._gate = gate
        self._max_replays = require_integer_at_least("max_replays", max_replays, 1)
        self._max_invalid = require_integer_at_least("max_invalid", max_invalid, 0)
        self._save = save
        self._events = EventReporter(on_event)

    async def run_from(self, ctx: AgentContext) -> LoopOutcome:
        """Run the loop to its outcome, from a new or a saved context.

        A saved context keeps its count of attempts, and its candidate without a verdict is verified first. Exceptions
        of the producer are raised, except a `FatalAgentError`, which gives `Failed`.
        """
        resumed = ctx.progress.candidate is not None
        has_begun = ctx.turn > 0 or bool(ctx.messages)
        ctx = await self._gate.load_verification_state(ctx)
        if not has_begun:
            ctx = await self._save_context(ctx, messages=[make_chat_message("user", ctx.query)])
        outcome: LoopOutcome | None = None
        raised: VerificationRejected | None = None
        while outcome is None and (outcome := self._find_outcome(ctx, raised)) is None:
            if ctx.progress.candidate is None:
                try:
                    answer = await self._run_turn(ctx)
                except FatalAgentError as error:
                    return Failed(error, await self._record_failure(ctx, rejection_from_fatal_error(error)))
                ctx = await self._add_candidate(ctx, *answer)
            candidate = ctx.progress.candidate
            if candidate is not None:  # one from a modified saved context may be invalid
                problem = find_candidate_problem(candidate) if resumed else None
                step = (
                    _invalid_step(ctx, problem)
                    if problem
                    else await self._gate.verify_and_count_attempt(candidate, ctx, resumed=resumed)
                )
                raised = step.raised or raised
                ctx, outcome = await self._apply_step(ctx, step, raised)
            resumed = False
        await self._events.report_passed_or_exhausted(outcome)
        return outcome

    def _find_outcome(self, ctx: AgentContext, raised: VerificationRejected | None) -> LoopOutcome | None:
        progress = ctx.progress
        if progress.failed is not None:
            return Failed(FatalAgentError(progress.failed.message), ctx)
        bounds = {
            Reason.MAX_ATTEMPTS: ctx.verification.is_exhausted,
            Reason.NO_PROGRESS: progress.replays >= self._max_replays,
            Reason.INVALID_OUTPUT: progress.invalid > self._max_invalid,
        }
        reason = next((reason for reason, is_reached in bounds.items() if is_reached), None)
        return build_exhausted_outcome(reason, ctx, raised) if reason and progress.candidate is None else None

    async def _run_turn(self, ctx: AgentContext) -> tuple[Candidate, Problem | None, list[Message]]:
        """Call the producer with a copy of the context; return candidate, its problem, and the messages."""
        producer_ctx = ctx.model_copy(update=_turn(ctx), deep=True)
        messages, previous = producer_ctx.messages, list(producer_ctx.messages)
        candidate, problem = parse_producer_result(await self._call_producer(producer_ctx))
        return candidate, problem, append_answer_if_missing(previous, messages, candidate.output)

    async def _add_candidate(
        self, ctx: AgentContext, candidate: Candidate, problem: Problem | None, messages: list[Message]
    ) -> AgentContext:
        """Save and return the context with the new candidate, or with feedback if it cannot be saved."""
        ctx = ctx.model_copy(update={**_turn(ctx), "messages": messages})
        if problem is not None:
            return await self._with_feedback(ctx, _invalid_step(ctx, problem))
        texts = find_claim_texts_lost_in_storage(candidate.claimed_values)
        progress = ctx.progress.model_copy(update={"candidate": candidate, "claim_texts": texts})
        return await self._save_context(ctx, output=candidate.output, progress=progress)

    async def _call_producer(self, ctx: AgentContext) -> Any:
        try:
            found = self._produce(ctx)
            return await found if inspect.isawaitable(found) else found
        except ExceptionGroup as group:
            fatal = find_verdict_in_group(group)
            if isinstance(fatal, FatalAgentError):
                raise fatal from group
            raise

    async def _apply_step(
        self, ctx: AgentContext, step: LoopStep, raised: VerificationRejected | None
    ) -> tuple[AgentContext, LoopOutcome | None]:
        counted = step.verification.attempts_used > ctx.verification.attempts_used
        ctx = ctx.model_copy(update={"verification": step.verification})
        if step.ending is ContractStatus.PASSED:
            return ctx, Passed(step.ruling.final_result if isinstance(step.ruling, Accepted) else None, ctx)
        if step.ending is ContractStatus.FAILED:
            if isinstance(step.ruling, Rejected):
                ctx = await self._record_failure(ctx, step.ruling.rejection)
                await self._events.report_rejected_or_repeated(ctx, step.ruling, counted=counted)
            return ctx, Failed(step.error or FatalAgentError("The contract has failed"), ctx)
        if step.ending is None or step.ruling is not None:
            ctx = await self._with_feedback(ctx, step)
            await self._events.report_rejected_or_repeated(ctx, step.ruling, counted=counted)
        return ctx, None if step.ending is None else build_exhausted_outcome(REASONS[step.ending], ctx, raised)

    async def _with_feedback(self, ctx: AgentContext, step: LoopStep) -> AgentContext:
        progress = _progress(ctx.progress, step)
        text = step.feedback
        if step.ruling is None:
            attempt, max_attempts = step.verification.attempts_used, step.verification.max_attempts
            replays, limit = progress.replays, self._max_replays
            text = render_repeat_feedback(
                attempt=attempt, max_attempts=max_attempts, replays=replays, max_replays=limit
            )
        messages = ctx.messages if text is None else append_feedback(ctx.messages, text)
        return await self._save_context(ctx, messages=messages, progress=progress)

    async def _record_failure(self, ctx: AgentContext, rejection: Rejection) -> AgentContext:
        last = ctx.progress.last_rejection if ctx.progress.candidate is None else rejection
        return await self._save_context(ctx, progress=Progress(last_rejection=last, failed=rejection))

    async def _save_context(self, ctx: AgentContext, **changes: Any) -> AgentContext:
        ctx = ctx.model_copy(update=changes)
        result = self._save(ctx) if self._save is not None else None
        if inspect.isawaitable(result):  # other values are ignored: `write` returns a number
            await result
        return ctx


def require_integer_at_least(name: str, value: Any, minimum: int) -> int:
    """Return the value of a setting. Raises `ValueError` if it is no integer of at least `minimum`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise ValueError(f"{name} must be a whole number of at least {minimum}, not {value!r}")
    return value


def _invalid_step(ctx: AgentContext, problem: Problem) -> LoopStep:
    return LoopStep(ctx.verification, Invalid(errors=(problem,)), render_invalid_output((problem,)))


def _turn(ctx: AgentContext) -> dict[str, int]:
    return {"turn": ctx.turn + 1, "attempt": ctx.verification.attempts_used + 1}


def _progress(progress: Progress, step: LoopStep) -> Progress:
    # Invalid outputs do not reset the count of repeats, so that no mixture of the two continues forever.
    if isinstance(step.ruling, Rejected):
        return Progress(last_rejection=step.ruling.rejection)
    if isinstance(step.ruling, Invalid):
        return progress.model_copy(update={**_NO_CANDIDATE, "invalid": progress.invalid + 1})
    return progress.model_copy(update={**_NO_CANDIDATE, "invalid": 0, "replays": progress.replays + 1})


def _check_producer(produce: Any) -> None:
    if not callable(produce):
        raise ValueError(  # noqa: TRY004 construction raises ValueError alone
            f"produce is of type {type(produce).__name__}, which cannot be called: give the function itself"
        )
    if inspect.isgeneratorfunction(produce) or inspect.isasyncgenfunction(produce):
        raise ValueError("produce is a generator: return the output instead of yielding it")
    try:
        inspect.signature(produce).bind(None)
    except TypeError as error:
        raise ValueError(f"produce must take one argument, the AgentContext, and need no other: {error}") from error
