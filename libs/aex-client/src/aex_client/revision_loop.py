"""The revision loop for a live contract: the platform verifies the candidates and pays for them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from aex_client.async_client import AsyncAexClient
from aex_client.call_attempts import random_jitter
from aex_client.live_gate import VERDICT_POLLING, LiveGate
from aex_models.backoff import Backoff
from aex_models.contract import FINAL_STATUSES, ContractStatus
from aex_outcomes.lifecycle.context import REASONS, AgentContext, Failed, LoopOutcome, Passed, build_exhausted_outcome
from aex_outcomes.lifecycle.loop import MAX_INVALID, MAX_REPLAYS, Loop, Produce, Save
from aex_outcomes.lifecycle.loop_events import OnEvent
from aex_outcomes.lifecycle.messages import to_storable_query
from aex_outcomes.lifecycle.rejection import FatalAgentError


class RevisionLoop:
    """A loop that posts an agent's candidates to a contract until one passes or no attempt is left.

    Producers, contexts and outcomes have the types of `aex_outcomes.RevisionLoop`, which verifies locally.
    `client` must have the token of the contract's agent. The platform also counts attempts by other clients.
    """

    def __init__(
        self,
        produce: Produce,
        client: AsyncAexClient,
        contract_id: str,
        *,
        max_replays: int = MAX_REPLAYS,
        max_invalid: int = MAX_INVALID,
        patience_s: float = 600.0,
        save: Save | None = None,
        on_event: OnEvent | None = None,
        backoff: Backoff = VERDICT_POLLING,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random_jitter,
    ) -> None:
        """Create the loop. Raises `ValueError` for an invalid argument.

        `produce`: the agent, a function from context to output. `patience_s`: longest wait for a candidate's verdict,
        including holds. `save`: called with the context after every message. `on_event`: called with each event of the
        loop. `backoff`: pauses between two reads of a pending verdict.
        """
        if not isinstance(client, AsyncAexClient):
            raise ValueError(  # noqa: TRY004 one kind of error for all that construction refuses
                f"client must be an AsyncAexClient, not {type(client).__name__}: the loop is asynchronous, "
                "though the producer may be a plain function"
            )
        if not patience_s > 0:
            raise ValueError(f"patience_s must be above 0, not {patience_s!r}")
        self._gate = LiveGate(client, contract_id, patience_s=patience_s, backoff=backoff, sleep=sleep, jitter=jitter)
        self._loop = Loop(
            produce, self._gate, max_replays=max_replays, max_invalid=max_invalid, save=save, on_event=on_event
        )

    async def run(self, query: Any) -> LoopOutcome:
        """Run the loop for a query and return `Passed`, `Exhausted` or `Failed`.

        It returns at once if the contract has ended. Raises `VerdictPending` if a verdict takes longer than
        `patience_s`, and the errors of producer and client. After an error, `resume` continues
        from the last saved context.
        """
        return await self.resume(AgentContext(query=to_storable_query(query)))

    async def resume(self, ctx: AgentContext) -> LoopOutcome:
        """Continue the loop from a saved context and return its outcome, like `run`.

        A saved candidate without a verdict is posted again. The platform recognises it and counts it once.
        """
        if ctx.progress.candidate is None:
            status = (await self._gate.get_contract()).status
            if status in FINAL_STATUSES:
                return await self._conclude_closed(status, await self._gate.load_verification_state(ctx))
        return await self._loop.run_from(ctx)

    async def _conclude_closed(self, status: ContractStatus, ctx: AgentContext) -> LoopOutcome:
        if status is ContractStatus.PASSED:
            return Passed(await self._gate.get_final_result(), ctx)
        if status is ContractStatus.FAILED:
            return Failed(FatalAgentError("The contract has failed"), ctx)
        return build_exhausted_outcome(REASONS[status], ctx)
