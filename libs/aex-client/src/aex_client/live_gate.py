"""The gate of a revision loop on a live contract: the platform verifies candidates, counts attempts."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from datetime import timedelta
from typing import Any

import structlog

from aex_client import calls
from aex_client.async_client import AsyncAexClient
from aex_client.call import Call
from aex_client.errors import AexError, Conflict, InvalidRequest, TooLarge, Unprocessable
from aex_client.views import AttemptView
from aex_models.backoff import Backoff
from aex_models.canonical import sha256_hex
from aex_models.contract import FINAL_STATUSES, AttemptStatus, Candidate, Contract, ContractStatus
from aex_models.contract_events import ContractEventType
from aex_models.results import Verdict
from aex_models.work import Problem
from aex_outcomes.feedback import render_invalid_output
from aex_outcomes.lifecycle.context import AgentContext
from aex_outcomes.lifecycle.loop import LoopStep
from aex_outcomes.lifecycle.outputs import candidate_hash
from aex_outcomes.lifecycle.rejection import REJECTED, FatalAgentError
from aex_outcomes.lifecycle.ruling import Accepted, Invalid, Rejected, Rejection
from aex_outcomes.lifecycle.state import Judged, LastOutcome, VerificationState

VERDICTS = frozenset({Verdict.PASSED, Verdict.REJECTED})


def record_judged_attempt(judged: dict[str, Judged], attempt: AttemptView) -> None:
    """Add an attempt to `judged`, by candidate hash, if it passed or was rejected.

    A later attempt with the same candidate replaces an earlier one but keeps its ordinal.
    """
    if attempt.candidate_hash is None or attempt.verdict not in VERDICTS:
        return
    before = judged.get(attempt.candidate_hash)
    judged[attempt.candidate_hash] = Judged(
        attempt_id=attempt.attempt_id,
        verdict=attempt.verdict,
        weighted_score=(attempt.result.weighted_score if attempt.result else None) or 0.0,
        ordinal=before.ordinal if before else len(judged) + 1,
    )


def apply_contract_state(before: VerificationState, contract: Contract, judged: dict[str, Judged]) -> VerificationState:
    """Return the loop's state with the attempts of the contract and the judged candidates.

    `judged`: results by candidate hash. If it is empty, the results in `before` stay.
    """
    last = max(judged.items(), key=lambda each: each[1].ordinal, default=None)
    changes: dict[str, Any] = {"attempts_used": contract.attempts_used, "max_attempts": contract.max_attempts}
    if last is not None:
        outcome = LastOutcome.PASSED if last[1].verdict is Verdict.PASSED else LastOutcome.REJECTED
        changes |= {"judged": judged, "last_candidate_hash": last[0], "last_outcome": outcome}
    return before.model_copy(update=changes)


VERDICT_POLLING = Backoff(first=timedelta(seconds=0.2), cap=timedelta(seconds=5))
"""Default pauses between two reads of a pending verdict."""
_LONGEST_WAIT_S = 25.0
_TIMEOUT_S = 5.0
"""Time limit for reading a rejection's event. The event is stored with the verdict, so it exists already."""
_DEFAULT_MESSAGE = "The candidate was rejected."
"""The message of a rejection at feedback level `none`."""
_log = structlog.get_logger(__name__)


class VerdictPending(AexError):
    """The error for a verdict that is missing at the time limit. `resume(error.context)` waits further."""

    def __init__(self, contract_id: str, context: AgentContext) -> None:
        super().__init__(f"{contract_id} has no verdict yet: resume(error.context) goes on")
        self.contract_id, self.context = contract_id, context


class Rejections:
    """A reader of one contract's rejections, which remembers the events that it has read."""

    def __init__(self, client: AsyncAexClient, contract_id: str) -> None:
        self._client, self._contract_id = client, contract_id
        self._found: dict[str, Rejection] = {}
        self._last_seq: int | None = None

    async def wait_for_rejection(self, attempt_id: str) -> Rejection | None:
        """Read events until the rejection of a judged attempt, and return the rejection.

        None means that the contract ended without that rejection. After 5 s without the event a rejection with a
        general message is returned, and a warning is logged.
        """
        limit = asyncio.timeout(_TIMEOUT_S)
        try:
            async with limit:
                await self._read_events(attempt_id)
        except TimeoutError:
            if not limit.expired():
                raise
            _log.warning("aex_rejection_details_missing", contract_id=self._contract_id, attempt_id=attempt_id)
            return Rejection(message=_DEFAULT_MESSAGE, code=REJECTED)
        return self._found.get(attempt_id)

    async def _read_events(self, attempt_id: str) -> None:
        async with aclosing(self._client.events(self._contract_id, self._last_seq)) as events:
            while attempt_id not in self._found and (event := await anext(events, None)):
                self._last_seq = event.seq
                if event.type is ContractEventType.VERIFICATION_REJECTED and event.attempt_id is not None:
                    message = event.message or _DEFAULT_MESSAGE
                    self._found[event.attempt_id] = Rejection(message=message, code=event.code or REJECTED)


class LiveGate:
    """The gate that posts candidates to a contract. A candidate that is posted twice counts once."""

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

    async def get_contract(self) -> Contract:
        return await self._client.get_contract(self._contract_id)

    async def get_final_result(self) -> Any:
        return (await self._client.get_outcome(self._contract_id)).final_result

    async def load_verification_state(self, ctx: AgentContext) -> AgentContext:
        """Return the context with all attempts and results of the contract, including those of other loops."""
        contract, judged = await self.get_contract(), dict[str, Judged]()
        async for attempt in self._client.each(calls.list_attempts(self._contract_id)):
            record_judged_attempt(judged, attempt)
        return ctx.model_copy(update={"verification": apply_contract_state(ctx.verification, contract, judged)})

    async def verify_and_count_attempt(self, candidate: Candidate, ctx: AgentContext, *, resumed: bool) -> LoopStep:
        """Post a candidate, wait for its verdict and return the next step of the loop.

        Raises `VerdictPending` if the verdict takes longer than `patience_s`.
        """
        limit = asyncio.timeout(self._patience_s)
        try:
            async with limit:
                return await self._judge(candidate, ctx, resumed)
        except TimeoutError:
            if not limit.expired():
                raise
            raise VerdictPending(self._contract_id, ctx) from None

    async def _judge(self, candidate: Candidate, ctx: AgentContext, resumed: bool) -> LoopStep:
        digest = candidate_hash(candidate)
        repeat = digest in ctx.verification.judged and not resumed
        try:
            attempt = await self._post_candidate(candidate)
        except (InvalidRequest, TooLarge, Unprocessable) as refused:
            errors = refused.errors or (Problem(path="", code=refused.code, message=refused.detail),)
            return LoopStep(ctx.verification, Invalid(errors=errors), render_invalid_output(errors))
        except Conflict as closed:  # the contract is closed; its status tells the cause
            contract = await self._wait_until_idle()
            if contract.status not in FINAL_STATUSES:
                raise
            _log.info("aex_contract_closed", contract_id=self._contract_id, status=contract.status, code=closed.code)
            return LoopStep(apply_contract_state(ctx.verification, contract, {}), ending=contract.status)
        contract = await self._wait_until_idle()
        attempt = await self._find_latest_attempt(attempt, digest)
        return await self._step(contract, attempt, ctx.verification, repeat)

    async def _step(
        self, contract: Contract, attempt: AttemptView, before: VerificationState, repeat: bool
    ) -> LoopStep:
        judged = dict(before.judged)
        record_judged_attempt(judged, attempt)
        after = apply_contract_state(before, contract, judged)
        ending = contract.status if contract.status in FINAL_STATUSES else None
        if ending is ContractStatus.PASSED:
            return LoopStep(after, Accepted(final_result=await self.get_final_result()), ending=ending)
        if attempt.status is AttemptStatus.INVALID:
            errors = tuple(Problem.model_validate(each, extra="ignore") for each in attempt.errors)
            return LoopStep(after, Invalid(errors=errors), attempt.feedback or render_invalid_output(errors), ending)
        if repeat:
            return LoopStep(after, ending=ending)
        rejection = await self._rejections.wait_for_rejection(attempt.attempt_id)
        if rejection is None:  # rejected by governance or an operator, not by the verifier
            return LoopStep(after, ending=ending)
        fatal = ending is ContractStatus.FAILED
        error = FatalAgentError(rejection.message) if fatal else None
        return LoopStep(after, Rejected(rejection=rejection, fatal=fatal), attempt.feedback, ending, error)

    async def _post_candidate(self, candidate: Candidate) -> AttemptView:
        """Post the candidate and return its attempt. Waits while another candidate is under verification."""
        call = _submission(self._contract_id, candidate, min(self._patience_s, _LONGEST_WAIT_S))
        waits = 0
        while True:
            try:
                return await self._client.send(call)
            except Conflict as error:
                if error.code != "candidate_under_way":
                    raise
                waits += 1
                await self._wait(waits, error.retry_after_s or 0.0)

    async def _wait_until_idle(self) -> Contract:
        """Wait until no candidate is under verification or held, and return the contract."""
        waits = 0
        while True:
            contract = await self.get_contract()
            if contract.status not in {ContractStatus.VERIFYING, ContractStatus.HELD}:
                return contract
            waits += 1
            await self._wait(waits)

    async def _find_latest_attempt(self, attempt: AttemptView, digest: str) -> AttemptView:
        """Return the attempt as it is now, or the newest with the digest if it has no verdict."""
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


def _submission(contract_id: str, candidate: Candidate, wait_s: float) -> Call[AttemptView]:
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
