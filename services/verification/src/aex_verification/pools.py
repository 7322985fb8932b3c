"""Pools of confined worker processes: for candidates, custom code, raw data and named verifiers."""

import asyncio
import contextlib
from types import TracebackType
from typing import Any, Self

import structlog

from aex_outcomes.config import SandboxConfig
from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.lifecycle import registry
from aex_outcomes.sandbox.jobs import MEMORY_MB
from aex_outcomes.sandbox.query_runner import MEMORY_MB as QUERY_MB
from aex_outcomes.science.confined import EXAMINE
from aex_outcomes.testing.jobs import MEMORY_MB as TESTING_MB
from aex_verification.grading import CHECK_REFERENCE, DRY_RUN, JOB, JOB_OF_SEVERAL, MAX_RESULT_BYTES, WARM
from aex_verification.ports import StartedPool
from aex_verification.sandbox_pool import SELF_TEST
from aex_verification.settings import Settings
from aex_verification.verifiers import JOB as RUN_VERIFIER

_BESIDE_QUERY_MB = 128
"""Megabytes that the worker of a query uses before the query; it has no more memory than the worker that starts it."""
_MAX_EXAMINATIONS = 500
_START_AFTER_S = 0.1
"""Seconds before workers start unless a job comes first; the processor is left to the service's own start."""
_MAX_REASON = 200
_log = structlog.get_logger(__name__)


class OnDemandPool(WorkerPool):
    """Worker pool that starts its workers with the first job."""

    async def __aenter__(self) -> Self:
        return self


def make_candidate_pool(settings: Settings) -> WorkerPool:
    """Return the pool for jobs without slow metrics."""
    limits = (settings.workers, settings.verify_timeout_s, settings.worker_memory_mb)
    return WorkerPool(
        *limits, jobs=[JOB, JOB_OF_SEVERAL, CHECK_REFERENCE], warm=WARM, max_result_bytes=MAX_RESULT_BYTES
    )


def make_verifier_pool(settings: Settings, registered: registry.VerifierRegistry) -> WorkerPool | None:
    """Return the pool for named verifiers, imported before confinement; None if none is registered."""
    if not registered.names:
        return None
    return WorkerPool(
        settings.verifier_workers,
        settings.verify_timeout_s,
        settings.worker_memory_mb,
        jobs=[RUN_VERIFIER],
        warm=("asyncio", *registered.modules),  # the first is the job's own
        max_result_bytes=MAX_RESULT_BYTES,
        network=settings.verifier_network,
    )


def make_sandbox_pool(settings: Settings, code: SandboxConfig, tests: SandboxConfig) -> WorkerPool:
    """Return the pool for slow metrics, whose workers may start processes.

    There are no spare workers, because few works need them. `code`, `tests`: limits of custom code and hidden tests.
    """
    return WorkerPool(
        settings.sandbox_workers,
        settings.verify_timeout_s,
        max(
            settings.worker_memory_mb,
            code.memory_limit_mb + MEMORY_MB,
            tests.memory_limit_mb + TESTING_MB,
            QUERY_MB + _BESIDE_QUERY_MB,
        ),
        jobs=[JOB, DRY_RUN, SELF_TEST],
        warm=WARM,
        spares=0,
        max_result_bytes=MAX_RESULT_BYTES,
        children=True,
    )


def make_science_pool(settings: Settings, limits: SandboxConfig) -> OnDemandPool:
    """Return the pool that reads raw data.

    There are no spare workers, and few jobs per worker, because files are hostile and large.
    """
    return OnDemandPool(
        settings.science_workers,
        limits.timeout_ms / 1_000,
        limits.memory_limit_mb,
        jobs=[EXAMINE],
        warm=("duckdb",),
        spares=0,
        max_jobs=_MAX_EXAMINATIONS,
        max_result_bytes=MAX_RESULT_BYTES,
    )


class PrewarmedPool:
    """Worker pool that is started in the background; jobs wait until its workers are ready.

    If no worker can be started, jobs wait until the process ends, so that another instance can run them.
    """

    def __init__(self, pool: StartedPool, after_s: float = _START_AFTER_S) -> None:
        self._pool, self._after_s = pool, after_s
        self._requested, self._started = asyncio.Event(), asyncio.Event()
        self.missing: str | None = None
        """Reason why the start of the workers failed; None before the start ends, and after a success."""
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._warm_up(), name="workers")
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._pool.close()
        self._started.set()

    async def run(
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, queue: str = ""
    ) -> dict[str, Any]:
        """Run a job as `WorkerPool.run` does, once the workers are ready."""
        self._requested.set()
        await self._started.wait()
        return await self._pool.run(job, payload, timeout_s, queue=queue)

    async def _warm_up(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._after_s):
                await self._requested.wait()
        try:
            await self._pool.start()
        except Exception as error:  # noqa: BLE001 no other code would report it
            self.missing = "no worker can be started"
            _log.error("workers_not_started", reason=str(error)[:_MAX_REASON], kind=type(error).__name__)
        else:
            self._started.set()
