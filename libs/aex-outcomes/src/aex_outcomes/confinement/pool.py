"""Pool of killable worker processes for jobs that take much processor time or read hostile data.

`concurrent.futures.ProcessPoolExecutor` cannot end a job that does not return. This pool kills the worker at the job's
deadline, with its process group, and starts another.
"""

import asyncio
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Any, Self

import structlog

from aex_outcomes.confinement.dispatcher import Assignment, Dispatcher
from aex_outcomes.confinement.encoding import encode_without_blocking
from aex_outcomes.confinement.settings import (
    Confinement,
    JobCrashed,
    JobFailed,
    JobNotAllowed,
    JobTimeout,
    Setup,
    WorkersUnavailable,
)
from aex_outcomes.confinement.supervisor import PoolSpec

_MAX_JOBS, _MAX_JOBS_OF_PARENTS = 10_000, 1_000
"""Default number of jobs after which a worker is replaced; the second is for workers that start processes."""

_log = structlog.get_logger(__name__)


class WorkerPool:
    """Pool of confined worker processes that run named jobs.

    `size`: number of jobs that run at once. `job_timeout_s`: default seconds of a job; `grace_s` is added before the
    worker is killed, for jobs with a limit of their own. `memory_mb`: megabytes that a job may use beyond a worker
    without a job.

    `jobs`: names ("module:function") of the functions that may run. Each takes the payload and returns a JSON object,
    and may be a coroutine function. `warm`: further modules that a worker imports before its first job. `queue_limit`:
    number of jobs that may wait.

    `spares`: number of idle workers beyond `size`, so that a killed worker delays no job. A worker is replaced after
    `max_jobs` jobs, or when its memory has grown by `retire_above_mb`. By default these are 10,000 (1,000 with
    `children`) and half of `memory_mb`. `max_result_bytes`: longer answers are refused unread.

    `start_timeout_s`: seconds for a worker's start. `start_pause_s`: first pause after a failed start. After five
    failures in a row without a worker left, waiting jobs raise `WorkersUnavailable`; the next job starts new attempts.
    `network`, `children`, `files`, `cpu_seconds`: see `Confinement`.
    """

    def __init__(
        self,
        size: int = 2,
        job_timeout_s: float = 10.0,
        memory_mb: int = 512,
        *,
        jobs: Collection[str],
        warm: Sequence[str] = (),
        queue_limit: int = 1_000,
        grace_s: float = 0.25,
        spares: int = 1,
        max_jobs: int | None = None,
        retire_above_mb: int | None = None,
        max_result_bytes: int = 1 << 20,
        start_timeout_s: float = 60.0,
        start_pause_s: float = 0.5,
        nice: int = 5,
        network: bool = False,
        children: bool = False,
        files: bool = True,
        cpu_seconds: int | None = None,
    ) -> None:
        job_limit = max_jobs if max_jobs is not None else (_MAX_JOBS_OF_PARENTS if children else _MAX_JOBS)
        if min(size, job_limit) < 1 or min(spares, queue_limit) < 0:
            raise ValueError("size and max_jobs must be at least 1, spares and queue_limit at least 0")
        self._timeout_s = job_timeout_s
        self._jobs = frozenset(jobs)
        rights = {"network": network, "children": children, "files": files}
        bounds = Confinement(memory_mb, nice=nice, cpu_seconds=cpu_seconds, **rights)
        setup = Setup(
            jobs=tuple(sorted(self._jobs)),
            warm=tuple(warm),
            confinement=bounds,
            retire_above_mb=memory_mb // 2 if retire_above_mb is None else retire_above_mb,
        )
        spec = PoolSpec(size + spares, setup, max_result_bytes, start_timeout_s, start_pause_s)
        self._dispatcher = Dispatcher(size, queue_limit, grace_s, job_limit, spec)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.close()

    @property
    def alive_workers(self) -> int:
        """Return the number of started workers, idle or busy."""
        return self._dispatcher.workers.alive_count

    @property
    def missing_confinement(self) -> tuple[str, ...]:
        """Return the names of the confinement steps that its system lacks; empty before a worker is ready."""
        return self._dispatcher.workers.missing_confinement

    @property
    def running_jobs(self) -> int:
        """Return the number of jobs that workers run now."""
        return len(self._dispatcher.busy)

    @property
    def waiting_jobs(self) -> int:
        """Return the number of jobs that wait for a worker."""
        return len(self._dispatcher.waiting)

    async def start(self) -> None:
        """Start all workers and wait until they are ready. Raises `WorkersUnavailable` if one cannot start."""
        await self._dispatcher.workers.start()

    async def close(self) -> None:
        """Kill all workers and wait for their ends; jobs without a result raise `PoolClosed`."""
        await self._dispatcher.close()

    async def run(
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, queue: str = ""
    ) -> dict[str, Any]:
        """Run a job in a worker and return the JSON object that it returns.

        `timeout_s`: seconds from the moment a worker takes the job, by default the pool's. `queue`: named queues of
        waiting jobs are served in turn. If the caller is cancelled, a waiting job is withdrawn; a running one
        continues, and its result is dropped.

        Raises `JobTimeout`, `JobCrashed` (also its subclass `JobOutOfMemory`), `JobFailed`, `PoolBusy`, `PoolClosed`,
        `WorkersUnavailable`, and `JobNotAllowed` for a job that the pool does not list. Raises `ValueError` or
        `TypeError` for a payload that is not JSON.
        """
        if job not in self._jobs:
            raise JobNotAllowed(f"{job} is not a job of this pool")
        body = await encode_without_blocking({"job": job, "payload": payload})
        result: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        assignment = Assignment(job, body, self._timeout_s if timeout_s is None else timeout_s, result)
        self._dispatcher.submit(queue, assignment)
        try:
            return await result
        except asyncio.CancelledError:
            self._dispatcher.waiting.remove_if_waiting(queue, assignment)
            raise
        except (JobTimeout, JobCrashed, WorkersUnavailable) as error:
            _log.warning("confined_job_crashed", job=job, kind=type(error).__name__, reason=str(error))
            raise
        except JobFailed as error:
            _log.info("confined_job_failed", job=job, kind=error.kind)  # not the message: it may quote the payload
            raise
