"""The pool of killable worker processes for all jobs that burn CPU or touch hostile data.

`concurrent.futures.ProcessPoolExecutor` cannot end a job that is stuck. Here a deadline kills the worker with its
process group, and a fresh one replaces it.
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
"""The second applies where workers start processes: their processor limit grows with the worker's own use."""

_log = structlog.get_logger(__name__)


class WorkerPool:
    """A pool of confined worker processes that run named jobs.

    `size`: jobs that run at once. `job_timeout_s`: the default time of a job; `grace_s` is added before the kill, for
    jobs with a limit of their own. `memory_mb`: what a job may use on top of a warm worker.

    `jobs`: the names, "module:function", that may run. Each takes the payload and returns a JSON object, and may be a
    coroutine function. `warm`: further modules to import before the first job. `queue_limit`: jobs that may wait.

    `spares`: warm workers beside the `size`, so that a kill delays no job by a start. `max_jobs`, `retire_above_mb`:
    the jobs or the growth after which a worker is replaced. The defaults are 10,000 (1,000 with `children`) and half of
    `memory_mb`; 1 job makes workers disposable. `max_result_bytes`: longer answers are refused unread.

    `start_timeout_s`: the time to become warm. `start_pause_s`: the first pause after a failed start. After five
    failures in a row with no worker left, waiting jobs raise `WorkersUnavailable`; the next job makes the pool retry.
    `network`, `children`: see `Confinement`.
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
    ) -> None:
        job_limit = max_jobs if max_jobs is not None else (_MAX_JOBS_OF_PARENTS if children else _MAX_JOBS)
        if min(size, job_limit) < 1 or min(spares, queue_limit) < 0:
            raise ValueError("size and max_jobs must be at least 1, spares and queue_limit at least 0")
        self._timeout_s = job_timeout_s
        self._jobs = frozenset(jobs)
        setup = Setup(
            jobs=tuple(sorted(self._jobs)),
            warm=tuple(warm),
            confinement=Confinement(memory_mb=memory_mb, nice=nice, network=network, children=children),
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
        return self._dispatcher.workers.alive_count

    @property
    def running_jobs(self) -> int:
        return len(self._dispatcher.busy)

    @property
    def waiting_jobs(self) -> int:
        return len(self._dispatcher.waiting)

    async def start(self) -> None:
        """Start and warm all workers. Raises `WorkersUnavailable` when one cannot start."""
        await self._dispatcher.workers.start()

    async def close(self) -> None:
        """Kill every worker and wait for their ends; pending jobs raise `PoolClosed`."""
        await self._dispatcher.close()

    async def run(
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, queue: str = ""
    ) -> dict[str, Any]:
        """Run a job in a worker and return its JSON object.

        `timeout_s` counts from the moment a worker takes the job. Waiting jobs are taken from each named queue in turn,
        in order within a queue. Cancelled while it waits, a job never runs. Cancelled while it runs, it goes on to its
        end or its deadline, and its result is dropped.

        Raises `JobTimeout`, `JobCrashed` (`JobOutOfMemory` is one), `JobFailed`, `PoolBusy`, `PoolClosed`,
        `WorkersUnavailable`; `JobNotAllowed` for a name that is not listed. Raises `ValueError` or `TypeError` for a
        payload that is not JSON.
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
            self._dispatcher.waiting.withdraw(queue, assignment)
            raise
        except (JobTimeout, JobCrashed, WorkersUnavailable) as error:
            _log.warning("confined_job_crashed", job=job, kind=type(error).__name__, reason=str(error))
            raise
        except JobFailed as error:
            _log.info("confined_job_failed", job=job, kind=error.kind)  # not the message: it may quote the payload
            raise
