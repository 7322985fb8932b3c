"""Protection against concurrent sealers: a guard of their writes, and retries after conflicts."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import structlog

from aex_models.backoff import Backoff
from aex_runtime.retry import Retries
from aex_runtime.store.port import Contention, Transaction
from aex_settlement.deps import Deps

Guard = Callable[[Transaction], Awaitable[None]]
"""Function that is called first in each transaction of a sealer; raises `LeaseLost` if its lease has ended."""
_MAX_ATTEMPTS = 12
_PAUSE = Backoff(first=timedelta(milliseconds=5), cap=timedelta(milliseconds=200))
_log = structlog.get_logger("aex_settlement.concurrency")


async def allow_without_lease(_: Transaction) -> None:
    """Allow every write, for a caller without a lease; the write still compares the stored state."""


class ConcurrentUpdate(Exception):
    """Error: another process changed the state on which a write was based. Nothing was written."""


async def retry_on_conflict(deps: Deps, log_event: str, work: Callable[[], Awaitable[None]]) -> None:
    """Run `work` until it raises no `ConcurrentUpdate`; log each conflict under the name `log_event`.

    Raises `Contention` after 12 attempts.
    """
    retries = Retries(_PAUSE, deps.ids)
    while retries.failures < _MAX_ATTEMPTS:
        try:
            return await work()
        except ConcurrentUpdate as error:  # expected where several processes seal: no warning
            wait_s = retries.count_failure_and_get_delay_s()
            _log.info(
                log_event, reason=str(error), attempt=retries.failures, max_attempts=_MAX_ATTEMPTS, retry_in_s=wait_s
            )
            await asyncio.sleep(wait_s)
    raise Contention(f"{log_event}: {_MAX_ATTEMPTS} attempts met a conflict")
