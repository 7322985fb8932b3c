"""A pool whose workers are started by the first job that needs them."""

from types import TracebackType
from typing import Any, Self

from aex_outcomes.confinement.pool import WorkerPool


class PoolOnDemand:
    """Runs jobs as the pool does, which starts missing workers whenever a job comes: here the first as well.

    Many installations never have such a job, and a service starts no faster than its pools. Left, no process remains.
    """

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self._pool.close()

    async def run(
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, lane: str = ""
    ) -> dict[str, Any]:
        """See `WorkerPool.run`."""
        return await self._pool.run(job, payload, timeout_s, lane=lane)
