"""What is said of rejected candidates, in fields: out of the contract's events."""

import asyncio
from contextlib import aclosing

import structlog

from aex_client.async_client import AsyncAexClient
from aex_models.contract_events import ContractEventType
from aex_outcomes.lifecycle.rejection import REJECTED
from aex_outcomes.lifecycle.ruling import Rejection

_PATIENCE_S = 5.0
"""A rejection's event is written together with its verdict: it is there already."""
_UNTOLD = "The candidate was rejected."
"""Works whose feedback level is `none` say no more."""
_log = structlog.get_logger(__name__)


class Rejections:
    """The rejections of one contract."""

    def __init__(self, client: AsyncAexClient, contract_id: str) -> None:
        self._client, self._contract_id = client, contract_id
        self._found: dict[str, Rejection] = {}
        self._heard: int | None = None

    async def of(self, attempt_id: str) -> Rejection | None:
        """What was said of this attempt, which was judged; None where the contract is over and nothing was."""
        limit = asyncio.timeout(_PATIENCE_S)
        try:
            async with limit:
                await self._listen(attempt_id)
        except TimeoutError:
            if not limit.expired():
                raise
            _log.warning("aex_rejection_untold", contract_id=self._contract_id, attempt_id=attempt_id)
            return Rejection(message=_UNTOLD, code=REJECTED)
        return self._found.get(attempt_id)

    async def _listen(self, attempt_id: str) -> None:
        if attempt_id in self._found:
            return
        async with aclosing(self._client.events(self._contract_id, self._heard)) as events:
            async for event in events:
                self._heard = event.seq
                if event.type is ContractEventType.VERIFICATION_REJECTED and event.attempt_id is not None:
                    said = event.message or _UNTOLD
                    self._found[event.attempt_id] = Rejection(message=said, code=event.code or REJECTED)
                if attempt_id in self._found:
                    return
