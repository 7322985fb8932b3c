"""A pool whose workers are started beside the service, which is ready before they are."""

import asyncio
import contextlib
from types import TracebackType
from typing import Any, Self

import structlog

from aex_verification.started_pool import StartedPool

_AFTER_S = 0.1
"""The processor is left to the service until it is ready, or until there is a job."""
_MAX_TOLD = 200
_log = structlog.get_logger(__name__)


class WarmingPool:
    """Runs jobs as the pool does; those that come before its workers are warm wait for them.

    Where they cannot be started `missing` says so, for good: jobs wait on, for the end of the process, and are not
    failed by an instance that can do nothing. Left, no process remains.
    """

    def __init__(self, pool: StartedPool, after_s: float = _AFTER_S) -> None:
        self._pool = pool
        self._after_s = after_s
        self._asked, self._settled = asyncio.Event(), asyncio.Event()
        self._missing: str | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._warm_up(), name="workers")
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._pool.close()
        self._settled.set()

    @property
    def missing(self) -> str | None:
        """That there are no workers and will be none, in words for anybody; None while they are warmed, and after."""
        return self._missing

    async def run(
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, lane: str = ""
    ) -> dict[str, Any]:
        """See `WorkerPool.run`."""
        self._asked.set()
        await self._settled.wait()
        return await self._pool.run(job, payload, timeout_s, lane=lane)

    async def _warm_up(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._after_s):
                await self._asked.wait()
        try:
            await self._pool.start()
        except Exception as error:  # noqa: BLE001 whatever it is, nobody else would hear of it
            self._missing = "no worker can be started"
            _log.error("workers_not_started", reason=str(error)[:_MAX_TOLD], kind=type(error).__name__)
        else:
            self._settled.set()
