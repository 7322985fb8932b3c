"""The loop on a live contract: an agent of one's own, judged and paid by the platform."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from aex_client.async_client import AsyncAexClient
from aex_client.exchange import system_jitter
from aex_client.live_gate import LOOKING, LiveGate
from aex_models.backoff import Backoff
from aex_models.contract import FINAL_STATUSES, ContractStatus
from aex_outcomes.lifecycle.context import AgentContext
from aex_outcomes.lifecycle.endings import REASONS, Ending, Failed, Passed, exhausted
from aex_outcomes.lifecycle.loop import MAX_INVALID, MAX_REPLAYS, Loop, Produce, Save
from aex_outcomes.lifecycle.messages import query_json
from aex_outcomes.lifecycle.rejection import FatalAgentError


class RevisionLoop:
    """`aex_outcomes.RevisionLoop` with a contract in the place of the verifier: the same producers, contexts and ends.

    `client` is the contract's agent. Attempts are counted by the platform alone, whoever posts them.
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
        backoff: Backoff = LOOKING,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = system_jitter,
    ) -> None:
        """Raises `ValueError` for what could not be served later.

        `patience_s`: how long one candidate's verdict is waited for, holds by an operator included. `save`: given the
        context after every message. `backoff`: between two looks at a verdict that takes long.
        """
        if not isinstance(client, AsyncAexClient):
            raise ValueError(  # noqa: TRY004 one kind of error for all that construction refuses
                f"client must be an AsyncAexClient, not {type(client).__name__}: the loop is asynchronous, "
                "though the producer may be a plain function"
            )
        if not patience_s > 0:
            raise ValueError(f"patience_s must be above 0, not {patience_s!r}")
        self._gate = LiveGate(client, contract_id, patience_s=patience_s, backoff=backoff, sleep=sleep, jitter=jitter)
        self._loop = Loop(produce, self._gate, max_replays=max_replays, max_invalid=max_invalid, save=save)

    async def run(self, query: Any) -> Ending:
        """`Passed(result)`, `Exhausted(reason, last_rejection)` or `Failed(error)`; at once where the contract is over.

        Raises `VerdictPending` once its patience is over, and what the producer and the client raise: each time the
        context that `save` got last goes on.
        """
        return await self.resume(AgentContext(query=query_json(query)))

    async def resume(self, ctx: AgentContext) -> Ending:
        """Go on from what was saved. A candidate whose verdict was not read yet is posted again, and recognised."""
        if ctx.progress.candidate is None:
            status = (await self._gate.contract()).status
            if status in FINAL_STATUSES:
                return await self._closed(status, await self._gate.opened(ctx))
        return await self._loop.resume(ctx)

    async def _closed(self, status: ContractStatus, ctx: AgentContext) -> Ending:
        if status is ContractStatus.PASSED:
            return Passed(await self._gate.final_result(), ctx)
        if status is ContractStatus.FAILED:
            return Failed(FatalAgentError("The contract has failed"), ctx)
        return exhausted(REASONS[status], ctx)
