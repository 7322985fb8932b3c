"""The pool that runs custom code: started behind the service's start, and open only once its self-test has passed."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

import structlog

from aex_models.backoff import Backoff
from aex_outcomes.confinement.errors import ConfinementError, JobFailed, PoolClosed, WorkersUnavailable
from aex_outcomes.sandbox.port import SandboxUnavailable
from aex_runtime.ids import Ids
from aex_verification.started_pool import StartedPool

SELF_TEST = "aex_outcomes.sandbox.selftest:self_test"
OFF, STARTING = "off", "starting"
NO_WORKER, TEST_LOST, TEST_FAILED = "no worker can be started", "the self-test did not end", "the self-test failed"
NO_INTERPRETER = "a worker could not run any code"
_AWAY = SandboxUnavailable.__name__
_MAX_TOLD = 200
_AGAIN = Backoff(first=timedelta(seconds=5), cap=timedelta(seconds=60))
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SandboxPolicy:
    """When the sandbox is looked at."""

    start_after: timedelta = timedelta(seconds=1)
    """The processor is left to the service until it is ready."""
    again: Backoff = _AGAIN
    """After a self-test that failed: it may have been the machine's bad moment."""
    patience: timedelta = timedelta(seconds=10)
    """How long a job waits for the first self-test to end."""
    self_test_timeout: timedelta = timedelta(seconds=60)


class SandboxDesk:
    """Runs jobs in the sandbox, where there is one that keeps its promises.

    `new_pool` makes a pool that is not started; None: custom code is off. A pool whose self-test fails is closed, and
    the next test is on a new one. Enter it to start; left, no process remains.
    """

    def __init__(
        self, new_pool: Callable[[], StartedPool] | None, ids: Ids, policy: SandboxPolicy | None = None
    ) -> None:
        self._new_pool = new_pool
        self._ids = ids
        self._policy = policy or SandboxPolicy()
        self._pool: StartedPool | None = None
        self._missing: str | None = OFF if new_pool is None else STARTING
        self._examined = asyncio.Event()
        self._doubted = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if self._new_pool is not None:
            self._task = asyncio.create_task(self._keep(self._new_pool), name="sandbox")
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._close()
        self._missing = OFF

    @property
    def missing(self) -> str | None:
        """Why no custom code is run now, in words for anybody; None where it is."""
        return self._missing

    async def run(
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, lane: str = ""
    ) -> dict[str, Any]:
        """Run a job as `WorkerPool.run` does. Raises `SandboxUnavailable`, and what a pool raises of a job."""
        pool = await self._serving()
        try:
            return await pool.run(job, payload, timeout_s, lane=lane)
        except PoolClosed as error:
            raise SandboxUnavailable(NO_WORKER) from error
        except WorkersUnavailable as error:
            self._suspect(pool, NO_WORKER)
            raise SandboxUnavailable(NO_WORKER) from error
        except JobFailed as error:
            if error.kind != _AWAY:
                raise
            self._suspect(pool, NO_INTERPRETER)
            raise SandboxUnavailable(NO_INTERPRETER) from None

    def doubt(self) -> None:
        """Told by whoever read in an answer that no code could be run: another pool has to pass the self-test first."""
        self._suspect(self._pool, NO_INTERPRETER)

    def _suspect(self, pool: StartedPool | None, reason: str) -> None:
        """Run nothing more on this pool; that one before it failed tells nothing about it."""
        if pool is self._pool and self._missing is None:
            self._missing = reason
            self._doubted.set()

    async def _serving(self) -> StartedPool:
        if self._missing == STARTING:
            try:
                async with asyncio.timeout(self._policy.patience.total_seconds()):
                    await self._examined.wait()
            except TimeoutError:
                raise SandboxUnavailable(STARTING) from None
        if self._missing is not None or self._pool is None:
            raise SandboxUnavailable(self._missing or OFF)
        return self._pool

    async def _keep(self, new_pool: Callable[[], StartedPool]) -> None:
        """Examine, and again in time where that fails; then wait until somebody doubts. Until cancelled."""
        await asyncio.sleep(self._policy.start_after.total_seconds())
        failures = 0
        while True:
            self._doubted.clear()
            self._missing = await self._examine(new_pool)
            self._examined.set()
            if self._missing is None:
                failures = 0
                _log.info("sandbox_ready")
                await self._doubted.wait()
                continue
            await self._close()
            failures += 1
            pause_s = self._policy.again.delay(failures, self._ids.jitter()).total_seconds()
            _log.error("sandbox_unavailable", reason=self._missing, failures=failures, retry_in_s=pause_s)
            await asyncio.sleep(pause_s)

    async def _examine(self, new_pool: Callable[[], StartedPool]) -> str | None:
        """Why a new pool cannot be used; None where it can."""
        await self._close()
        pool = self._pool = new_pool()
        try:
            await pool.start()
            answer = await pool.run(SELF_TEST, {}, self._policy.self_test_timeout.total_seconds())
        except WorkersUnavailable as error:
            _log.warning("sandbox_not_started", reason=str(error)[:_MAX_TOLD])
            return NO_WORKER
        except ConfinementError as error:
            _log.warning("sandbox_self_test_lost", kind=type(error).__name__)
            return TEST_LOST
        if answer.get("ok") is True:
            return None
        _log.error("sandbox_self_test_failed", failures=str(answer.get("failures"))[:_MAX_TOLD])
        return TEST_FAILED

    async def _close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()
