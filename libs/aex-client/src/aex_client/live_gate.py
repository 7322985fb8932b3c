"""A live contract as a loop's gate: candidates are posted, and the platform judges and counts."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import structlog

from aex_client import calls
from aex_client.accounting import VERDICTS, mirrored, note
from aex_client.async_client import AsyncAexClient
from aex_client.call import Call
from aex_client.errors import AexError, Conflict, InvalidRequest, TooLarge, Unprocessable
from aex_client.rejections import Rejections
from aex_client.views import AttemptView
from aex_models.backoff import Backoff
from aex_models.canonical import sha256_hex
from aex_models.contract import FINAL_STATUSES, AttemptStatus, Candidate, Contract, ContractStatus
from aex_models.work import Problem
from aex_outcomes.feedback import render_invalid
from aex_outcomes.lifecycle.context import AgentContext
from aex_outcomes.lifecycle.gate import Step
from aex_outcomes.lifecycle.hashing import candidate_hash
from aex_outcomes.lifecycle.rejection import FatalAgentError
from aex_outcomes.lifecycle.ruling import Accepted, Invalid, Rejected
from aex_outcomes.lifecycle.state import Judged, VerificationState

LOOKING = Backoff(first=timedelta(seconds=0.2), cap=timedelta(seconds=5))
"""How often a verdict that takes long is asked for."""
_LONGEST_WAIT_S = 25.0
_log = structlog.get_logger(__name__)


class VerdictPending(AexError):
    """There was no verdict in the time that the loop is patient for: `resume(error.context)` goes on waiting for it."""

    def __init__(self, contract_id: str, context: AgentContext) -> None:
        super().__init__(f"{contract_id} has no verdict yet: resume(error.context) goes on")
        self.contract_id, self.context = contract_id, context


class LiveGate:
    """Posts each candidate under a key that follows from it, so that it is one candidate however often it is posted."""

    def __init__(
        self,
        client: AsyncAexClient,
        contract_id: str,
        *,
        patience_s: float,
        backoff: Backoff,
        sleep: Callable[[float], Awaitable[object]],
        jitter: Callable[[], float],
    ) -> None:
        self._client, self._contract_id = client, contract_id
        self._patience_s, self._backoff = patience_s, backoff
        self._sleep, self._jitter = sleep, jitter
        self._rejections = Rejections(client, contract_id)

    async def contract(self) -> Contract:
        """The contract as it is now."""
        return await self._client.get_contract(self._contract_id)

    async def final_result(self) -> Any:
        """What the contract that has passed has come to."""
        return (await self._client.get_outcome(self._contract_id)).final_result

    async def opened(self, ctx: AgentContext) -> AgentContext:
        """The context with the platform's accounting: of other loops' candidates, too."""
        contract, judged = await self.contract(), dict[str, Judged]()
        async for attempt in self._client.each(calls.list_attempts(self._contract_id)):
            note(judged, attempt)
        return ctx.model_copy(update={"verification": mirrored(ctx.verification, contract, judged)})

    async def judge(self, candidate: Candidate, ctx: AgentContext, *, resumed: bool) -> Step:
        """Post a candidate and wait for what it comes to. Raises `VerdictPending` where that takes too long."""
        limit = asyncio.timeout(self._patience_s)
        try:
            async with limit:
                return await self._judged(candidate, ctx, resumed)
        except TimeoutError:
            if not limit.expired():
                raise
            raise VerdictPending(self._contract_id, ctx) from None

    async def _judged(self, candidate: Candidate, ctx: AgentContext, resumed: bool) -> Step:
        digest = candidate_hash(candidate)
        repeat = digest in ctx.verification.judged and not resumed
        try:
            attempt = await self._posted(candidate)
        except (InvalidRequest, TooLarge, Unprocessable) as refused:
            errors = refused.errors or (Problem(path="", code=refused.code, message=refused.detail),)
            return Step(ctx.verification, Invalid(errors=errors), render_invalid(errors))
        except Conflict as closed:  # nothing is taken any more: the contract says why
            contract = await self._at_rest()
            if contract.status not in FINAL_STATUSES:
                raise
            _log.info("aex_contract_closed", contract_id=self._contract_id, status=contract.status, code=closed.code)
            return Step(mirrored(ctx.verification, contract, {}), ending=contract.status)
        contract = await self._at_rest()
        attempt = await self._latest(attempt, digest)
        return await self._step(contract, attempt, ctx.verification, repeat)

    async def _step(self, contract: Contract, attempt: AttemptView, before: VerificationState, repeat: bool) -> Step:
        judged = dict(before.judged)
        note(judged, attempt)
        after = mirrored(before, contract, judged)
        ending = contract.status if contract.status in FINAL_STATUSES else None
        if ending is ContractStatus.PASSED:
            return Step(after, Accepted(final_result=await self.final_result()), ending=ending)
        if attempt.status is AttemptStatus.INVALID:
            errors = tuple(Problem.model_validate(each, extra="ignore") for each in attempt.errors)
            return Step(after, Invalid(errors=errors), attempt.feedback or render_invalid(errors), ending)
        if repeat:
            return Step(after, ending=ending)
        rejection = await self._rejections.of(attempt.attempt_id)
        if rejection is None:  # the verifier had nothing against it: governance or an operator has
            return Step(after, ending=ending)
        fatal = ending is ContractStatus.FAILED
        error = FatalAgentError(rejection.message) if fatal else None
        return Step(after, Rejected(rejection=rejection, fatal=fatal), attempt.feedback, ending, error)

    async def _posted(self, candidate: Candidate) -> AttemptView:
        """The candidate's attempt, as soon as no other candidate is under way."""
        call = _post(self._contract_id, candidate, min(self._patience_s, _LONGEST_WAIT_S))
        waits = 0
        while True:
            try:
                return await self._client.send(call)
            except Conflict as error:
                if error.code != "candidate_under_way":
                    raise
                waits += 1
                await self._wait(waits, error.retry_after_s or 0.0)

    async def _at_rest(self) -> Contract:
        """The contract once no candidate is under verification, held or before governance."""
        waits = 0
        while True:
            contract = await self.contract()
            if contract.status not in {ContractStatus.VERIFYING, ContractStatus.HELD}:
                return contract
            waits += 1
            await self._wait(waits)

    async def _latest(self, attempt: AttemptView, digest: str) -> AttemptView:
        """The attempt as it is now, or the one in which an operator had the candidate verified anew."""
        if not attempt.settled:
            attempt = await self._client.get_attempt(self._contract_id, attempt.attempt_id)
        if attempt.status is AttemptStatus.INVALID or attempt.verdict in VERDICTS:
            return attempt
        async for each in self._client.each(calls.list_attempts(self._contract_id)):
            attempt = each if each.candidate_hash == digest else attempt
        return attempt

    async def _wait(self, waits: int, least_s: float = 0.0) -> None:
        delay_s = max(self._backoff.delay(waits, self._jitter()).total_seconds(), least_s)
        _log.debug("aex_verdict_awaited", contract_id=self._contract_id, waits=waits, pause_s=round(delay_s, 3))
        await self._sleep(delay_s)


def _post(contract_id: str, candidate: Candidate, wait_s: float) -> Call[AttemptView]:
    metadata = candidate.execution_metadata.model_dump(mode="json", exclude_none=True)
    call = calls.submit_output(
        contract_id,
        candidate.output,
        execution_metadata=metadata or None,
        claimed_metrics=candidate.claimed_metrics or None,
        claimed_values=candidate.claimed_values or None,
        reasoning=candidate.reasoning,
        artifacts=candidate.artifacts,
        wait_s=wait_s,
    )
    return call.with_key(f"{contract_id}.{sha256_hex(call.body or b'')}")
