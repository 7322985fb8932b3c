"""Pool for custom code, started after the service; it accepts jobs once its self-test has passed."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

import structlog

from aex_models.backoff import Backoff
from aex_outcomes.confinement.settings import ConfinementError, JobFailed, PoolClosed, WorkersUnavailable
from aex_outcomes.sandbox.port import SandboxUnavailable
from aex_runtime.ids import Ids
from aex_verification.ports import StartedPool

SELF_TEST = "aex_outcomes.sandbox.jobs:self_test"
OFF, STARTING = "off", "starting"
NO_WORKER, TEST_LOST, TEST_FAILED = "no worker can be started", "the self-test did not end", "the self-test failed"
NO_INTERPRETER = "a worker could not run any code"
_MAX_REASON = 200
_RETRY_BACKOFF = Backoff(first=timedelta(seconds=5), cap=timedelta(seconds=60))
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SandboxPolicy:
    """Times of the sandbox's start and self-test."""

    start_after: timedelta = timedelta(seconds=1)
    """Delay of the start, which leaves the processor to the service's own start."""
    retry_backoff: Backoff = _RETRY_BACKOFF
    """Delays after failed self-tests; the machine may have been overloaded."""
    start_wait: timedelta = timedelta(seconds=10)
    """Longest wait of a job for the first self-test."""
    self_test_timeout: timedelta = timedelta(seconds=60)


class SandboxPool:
    """Runner of jobs in a worker pool that has passed its self-test.

    `new_pool` makes a pool that is not started; None disables custom code. A pool that fails its self-test, or is
    marked unhealthy, is replaced by a new one.
    """

    def __init__(
        self, new_pool: Callable[[], StartedPool] | None, ids: Ids, policy: SandboxPolicy | None = None
    ) -> None:
        self._new_pool, self._ids, self._policy = new_pool, ids, policy or SandboxPolicy()
        self._pool: StartedPool | None = None
        self.missing: str | None = OFF if new_pool is None else STARTING
        """Reason why no custom code runs now; None where it does."""
        self._tested, self._suspected = asyncio.Event(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if self._new_pool is not None:
            self._task = asyncio.create_task(self._supervise(self._new_pool), name="sandbox")
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._close()
        self.missing = OFF

    async def read_availability_gauge(self) -> float:
        """Return 1 if custom code can run, else 0, for a gauge."""
        return float(self.missing is None)

    async def run(
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, queue: str = ""
    ) -> dict[str, Any]:
        """Run a job as `WorkerPool.run` does; wait for the first self-test if it is not over.

        Raises `SandboxUnavailable` if no custom code can run. Errors of the job itself are raised as by the pool.
        """
        pool = await self._tested_pool()
        try:
            return await pool.run(job, payload, timeout_s, queue=queue)
        except PoolClosed as error:
            raise SandboxUnavailable(NO_WORKER) from error
        except WorkersUnavailable as error:
            self._suspect(pool, NO_WORKER)
            raise SandboxUnavailable(NO_WORKER) from error
        except JobFailed as error:
            if error.kind != SandboxUnavailable.__name__:
                raise
            self._suspect(pool, NO_INTERPRETER)
            raise SandboxUnavailable(NO_INTERPRETER) from None

    def mark_unhealthy(self) -> None:
        """Replace the pool, because a job's answer shows that it can run no code."""
        self._suspect(self._pool, NO_INTERPRETER)

    def _suspect(self, pool: StartedPool | None, reason: str) -> None:
        if pool is self._pool and self.missing is None:
            self.missing = reason
            self._suspected.set()

    async def _tested_pool(self) -> StartedPool:
        if self.missing == STARTING:
            try:
                async with asyncio.timeout(self._policy.start_wait.total_seconds()):
                    await self._tested.wait()
            except TimeoutError:
                raise SandboxUnavailable(STARTING) from None
        if self.missing is not None or self._pool is None:
            raise SandboxUnavailable(self.missing or OFF)
        return self._pool

    async def _supervise(self, new_pool: Callable[[], StartedPool]) -> None:
        """Test new pools until one passes, then wait until it is marked unhealthy; repeat until cancelled."""
        await asyncio.sleep(self._policy.start_after.total_seconds())
        failures = 0
        while True:
            self._suspected.clear()
            self.missing = await self._test(new_pool)
            self._tested.set()
            if self.missing is None:
                failures = 0
                _log.info("sandbox_ready")
                await self._suspected.wait()
                continue
            await self._close()
            failures += 1
            pause_s = self._policy.retry_backoff.delay(failures, self._ids.jitter()).total_seconds()
            _log.error("sandbox_unavailable", reason=self.missing, failures=failures, retry_in_s=pause_s)
            await asyncio.sleep(pause_s)

    async def _test(self, new_pool: Callable[[], StartedPool]) -> str | None:
        """Start a new pool and test it; return why it cannot be used, or None if it can."""
        await self._close()
        pool = self._pool = new_pool()
        try:
            await pool.start()
            answer = await pool.run(SELF_TEST, {}, self._policy.self_test_timeout.total_seconds())
        except WorkersUnavailable as error:
            _log.warning("sandbox_not_started", reason=str(error)[:_MAX_REASON])
            return NO_WORKER
        except ConfinementError as error:
            _log.warning("sandbox_self_test_lost", kind=type(error).__name__)
            return TEST_LOST
        if answer.get("ok") is True:
            return None
        _log.error("sandbox_self_test_failed", failures=str(answer.get("failures"))[:_MAX_REASON])
        return TEST_FAILED

    async def _close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()
