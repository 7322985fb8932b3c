"""Bounded revision: an agent is asked, judged and told why, until it passes or its budget is used up."""

import inspect
from collections.abc import Callable
from typing import Any

from aex_models.contract import Candidate, ContractStatus
from aex_models.work import Problem
from aex_outcomes.claim_texts import texts_to_keep
from aex_outcomes.feedback import render_invalid, render_repeated
from aex_outcomes.lifecycle.context import AgentContext, Progress
from aex_outcomes.lifecycle.endings import REASONS, Ending, Failed, Passed, Reason, exhausted
from aex_outcomes.lifecycle.gate import Gate, Step
from aex_outcomes.lifecycle.messages import Message, answered, said, with_feedback
from aex_outcomes.lifecycle.outputs import problem_of, taken
from aex_outcomes.lifecycle.rejection import FatalAgentError, VerificationRejected, verdict_in
from aex_outcomes.lifecycle.ruling import Accepted, Invalid, Rejected, Rejection
from aex_outcomes.lifecycle.verifier import fatal_rejection

Produce = Callable[[AgentContext], Any]
"""An agent: from the context to its output, or to a `Candidate` with claims; sync (called in place) or async."""
Save = Callable[[AgentContext], Any]
"""Sync or async. What it returns is not looked at."""
MAX_REPLAYS = 3
MAX_INVALID = 5
_TAKEN_AWAY: dict[str, Any] = {"candidate": None, "claim_texts": {}}
"""The progress of a loop whose candidate was judged, or is none."""


class Loop:
    """The loop itself, whoever judges: see `RevisionLoop` for one on this machine."""

    def __init__(
        self,
        produce: Produce,
        gate: Gate,
        *,
        max_replays: int = MAX_REPLAYS,
        max_invalid: int = MAX_INVALID,
        save: Save | None = None,
    ) -> None:
        """Raises `ValueError` for a producer that cannot be called with the context, and for bounds below their least.

        `save` is given the context after every message, and when a fatal error ends the loop: what it stores as JSON,
        `resume` goes on from.
        """
        _refuse_odd(produce)
        self._produce = produce
        self._gate = gate
        self._max_replays = at_least("max_replays", max_replays, 1)
        self._max_invalid = at_least("max_invalid", max_invalid, 0)
        self._save = save

    async def resume(self, ctx: AgentContext) -> Ending:
        """Ask until the end, from a fresh context or a saved one: its budget is intact, and a candidate that was not
        judged yet is judged. What the producer raises comes out as it is, unless it is a `FatalAgentError`.
        """
        resumed = ctx.progress.candidate is not None
        begun = ctx.turn > 0 or bool(ctx.messages)
        ctx = await self._gate.opened(ctx)
        if not begun:
            ctx = await self._saved(ctx, messages=[said("user", ctx.query)])
        end: Ending | None = None
        raised: VerificationRejected | None = None
        while end is None and (end := self._over(ctx, raised)) is None:
            if ctx.progress.candidate is None:
                try:
                    answer = await self._asked(ctx)
                except FatalAgentError as error:
                    return Failed(error, await self._failed(ctx, fatal_rejection(error)))
                ctx = await self._taken(ctx, *answer)
            if ctx.progress.candidate is not None:
                step = await self._judged(ctx.progress.candidate, ctx, resumed)
                raised = step.raised or raised
                ctx, end = await self._after(ctx, step, raised)
            resumed = False
        return end

    def _over(self, ctx: AgentContext, raised: VerificationRejected | None) -> Ending | None:
        """Whether nothing is left to ask for."""
        progress = ctx.progress
        if progress.failed is not None:
            return Failed(FatalAgentError(progress.failed.message), ctx)
        if progress.candidate is not None:
            return None
        if ctx.verification.exhausted:
            return exhausted(Reason.MAX_ATTEMPTS, ctx, raised)
        if progress.replays >= self._max_replays:
            return exhausted(Reason.NO_PROGRESS, ctx, raised)
        return exhausted(Reason.INVALID_OUTPUT, ctx, raised) if progress.invalid > self._max_invalid else None

    async def _asked(self, ctx: AgentContext) -> tuple[Candidate, Problem | None, list[Message]]:
        """One turn of the producer, on a copy of the context: one that fails half-way has changed nothing."""
        theirs = ctx.model_copy(update=_turn(ctx), deep=True)
        messages, given = theirs.messages, list(theirs.messages)
        candidate, problem = taken(await self._produced(theirs))
        return candidate, problem, answered(given, messages, candidate.output)

    async def _taken(
        self, ctx: AgentContext, candidate: Candidate, problem: Problem | None, messages: list[Message]
    ) -> AgentContext:
        """The context with a new candidate; or without it, and told why, where it cannot be saved."""
        ctx = ctx.model_copy(update={**_turn(ctx), "messages": messages})
        if problem is not None:
            return await self._told(ctx, _invalid(ctx, problem))
        texts = texts_to_keep(candidate.claimed_values)
        progress = ctx.progress.model_copy(update={"candidate": candidate, "claim_texts": texts})
        return await self._saved(ctx, output=candidate.output, progress=progress)

    async def _produced(self, ctx: AgentContext) -> Any:
        try:
            found = self._produce(ctx)
            return await found if inspect.isawaitable(found) else found
        except ExceptionGroup as group:
            fatal = verdict_in(group)
            if isinstance(fatal, FatalAgentError):
                raise fatal from group
            raise

    async def _judged(self, candidate: Candidate, ctx: AgentContext, resumed: bool) -> Step:
        """What the gate makes of a candidate, unless somebody has made it one that no gate takes."""
        problem = problem_of(candidate) if resumed else None
        return _invalid(ctx, problem) if problem else await self._gate.judge(candidate, ctx, resumed=resumed)

    async def _after(
        self, ctx: AgentContext, step: Step, raised: VerificationRejected | None
    ) -> tuple[AgentContext, Ending | None]:
        """The context after a candidate, and the end where it is one."""
        ctx = ctx.model_copy(update={"verification": step.verification})
        if step.ending is ContractStatus.PASSED:
            return ctx, Passed(step.ruling.final_result if isinstance(step.ruling, Accepted) else None, ctx)
        if step.ending is ContractStatus.FAILED:
            if isinstance(step.ruling, Rejected):
                ctx = await self._failed(ctx, step.ruling.rejection)
            return ctx, Failed(step.error or FatalAgentError("The contract has failed"), ctx)
        if step.ending is None or step.ruling is not None:
            ctx = await self._told(ctx, step)
        return ctx, None if step.ending is None else exhausted(REASONS[step.ending], ctx, raised)

    async def _told(self, ctx: AgentContext, step: Step) -> AgentContext:
        """The context with the producer's feedback."""
        progress = _progress(ctx.progress, step)
        text = step.feedback
        if step.ruling is None:
            text = render_repeated(
                attempt=step.verification.attempts_used,
                max_attempts=step.verification.max_attempts,
                replays=progress.replays,
                max_replays=self._max_replays,
            )
        messages = ctx.messages if text is None else with_feedback(ctx.messages, text)
        return await self._saved(ctx, messages=messages, progress=progress)

    async def _failed(self, ctx: AgentContext, why: Rejection) -> AgentContext:
        """The context of a loop that is over for good, however often it is resumed."""
        last = ctx.progress.last_rejection if ctx.progress.candidate is None else why
        return await self._saved(ctx, progress=Progress(last_rejection=last, failed=why))

    async def _saved(self, ctx: AgentContext, **changes: Any) -> AgentContext:
        ctx = ctx.model_copy(update=changes)
        waiting = self._save(ctx) if self._save is not None else None
        if inspect.isawaitable(waiting):  # anything else is no concern of ours: what a `write` returns, say
            await waiting
        return ctx


def at_least(name: str, value: Any, least: int) -> int:
    """The value of a bound. Raises `ValueError` below the least, and for what is no whole number."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}")
    return value


def _invalid(ctx: AgentContext, problem: Problem) -> Step:
    return Step(ctx.verification, Invalid(errors=(problem,)), render_invalid((problem,)))


def _turn(ctx: AgentContext) -> dict[str, int]:
    """What one more turn of the producer changes."""
    return {"turn": ctx.turn + 1, "attempt": ctx.verification.attempts_used + 1}


def _progress(progress: Progress, step: Step) -> Progress:
    """Where the loop stands after a candidate.

    Repeats are counted through invalid outputs in between, so that no mixture of the two goes on for ever.
    """
    if isinstance(step.ruling, Rejected):
        return Progress(last_rejection=step.ruling.rejection)
    if isinstance(step.ruling, Invalid):
        return progress.model_copy(update={**_TAKEN_AWAY, "invalid": progress.invalid + 1})
    return progress.model_copy(update={**_TAKEN_AWAY, "invalid": 0, "replays": progress.replays + 1})


def _refuse_odd(produce: Any) -> None:
    if not callable(produce):
        raise ValueError(  # noqa: TRY004 one kind of error for all that construction refuses
            f"produce is of type {type(produce).__name__}, which cannot be called: give the function itself"
        )
    if inspect.isgeneratorfunction(produce) or inspect.isasyncgenfunction(produce):
        raise ValueError("produce is a generator: return the output instead of yielding it")
    try:
        inspect.signature(produce).bind(None)
    except TypeError as error:
        raise ValueError(f"produce must take one argument, the AgentContext, and need no other: {error}") from error
