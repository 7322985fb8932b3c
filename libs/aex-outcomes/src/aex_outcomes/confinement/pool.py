"""The one killable pool that runs everything that burns CPU or touches hostile data.

`concurrent.futures.ProcessPoolExecutor` cannot end a job that is stuck; here a deadline kills the worker, with all of
its process group, and a fresh one takes its place.
"""

import asyncio
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Any, Self

import structlog

from aex_outcomes.confinement.desk import Assignment, Desk
from aex_outcomes.confinement.encoding import encoded
from aex_outcomes.confinement.errors import JobCrashed, JobFailed, JobNotAllowed, JobTimeout, WorkersUnavailable
from aex_outcomes.confinement.settings import Confinement, Setup
from aex_outcomes.confinement.staff import Hiring

_MAX_JOBS, _MAX_JOBS_OF_PARENTS = 10_000, 1_000
"""The second where workers start processes: what those may use of the processor grows with the worker's own use."""

_log = structlog.get_logger(__name__)


class WorkerPool:
    """Runs named jobs in confined worker processes.

    `size`: jobs that run at once. `job_timeout_s`: a job's time, unless `run` says otherwise; `grace_s` is added before
    the kill, for jobs that keep a limit of their own. `memory_mb`: what a job may use on top of a warm worker.
    `jobs`: the names, "module:function", that may run; each takes the payload and returns a JSON object, and may be a
    coroutine function. `warm`: further modules to import before the first job. `queue_limit`: jobs that may wait.
    `spares`: warm workers beside the `size`, so that a kill costs nobody a start. `max_jobs`, `retire_above_mb` (half
    of `memory_mb`): after so many jobs (unless given, 10,000, or 1,000 with `children`), or so much growth, a worker is
    replaced; 1 job makes workers disposable.
    `max_result_bytes`: longer answers are refused unread. `start_timeout_s`, `start_pause_s`: how long a worker may
    take to be warm, and the first pause after one that failed; after five failures in a row with no worker left,
    waiting jobs raise `WorkersUnavailable`, and the next job makes the pool try again. `network`, `children`: see
    `Confinement`.
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
        most = max_jobs if max_jobs is not None else (_MAX_JOBS_OF_PARENTS if children else _MAX_JOBS)
        if min(size, most) < 1 or min(spares, queue_limit) < 0:
            raise ValueError("size and max_jobs are at least 1, spares and queue_limit at least 0")
        self._timeout_s = job_timeout_s
        self._jobs = frozenset(jobs)
        setup = Setup(
            jobs=tuple(sorted(self._jobs)),
            warm=tuple(warm),
            confinement=Confinement(memory_mb=memory_mb, nice=nice, network=network, children=children),
            retire_above_mb=memory_mb // 2 if retire_above_mb is None else retire_above_mb,
        )
        hiring = Hiring(size + spares, setup, max_result_bytes, start_timeout_s, start_pause_s)
        self._desk = Desk(size, queue_limit, grace_s, most, hiring)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.close()

    @property
    def alive(self) -> int:
        """Workers that are up: what a readiness check asks for."""
        return self._desk.staff.alive

    @property
    def running(self) -> int:
        """Jobs that run."""
        return len(self._desk.busy)

    @property
    def waiting(self) -> int:
        """Jobs that wait for a worker."""
        return len(self._desk.waiting)

    async def start(self) -> None:
        """Start and warm all workers. Raises `WorkersUnavailable`, with the reason, where one cannot start."""
        await self._desk.staff.hire()

    async def close(self) -> None:
        """Kill every worker; jobs without a result raise `PoolClosed`. Returns when no process is left."""
        await self._desk.close()

    async def run(
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, lane: str = ""
    ) -> dict[str, Any]:
        """Run a job in a worker and return the JSON object that it returned.

        `timeout_s` counts from when a worker takes the job, not while it waits. Jobs that wait are taken from each
        `lane` in turn (one for each consumer, say), in order within a lane. Cancelled while it waits, a job never runs;
        cancelled while it runs, it goes on to its end or its deadline, and its result is dropped.

        Raises `JobTimeout`, `JobCrashed` (`JobOutOfMemory` is one), `JobFailed`, `PoolBusy`, `PoolClosed`,
        `WorkersUnavailable`; `JobNotAllowed` for a name that is not listed, `ValueError` or `TypeError` for a payload
        that is not JSON.
        """
        if job not in self._jobs:
            raise JobNotAllowed(f"{job} is not a job of this pool")
        body = await encoded({"job": job, "payload": payload})
        result: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        assignment = Assignment(job, body, self._timeout_s if timeout_s is None else timeout_s, result)
        self._desk.accept(lane, assignment)
        try:
            return await result
        except asyncio.CancelledError:
            self._desk.waiting.withdraw(lane, assignment)
            raise
        except (JobTimeout, JobCrashed, WorkersUnavailable) as error:
            _log.warning("confined_job_lost", job=job, kind=type(error).__name__, reason=str(error))
            raise
        except JobFailed as error:
            _log.info("confined_job_failed", job=job, kind=error.kind)  # not the message: it may quote the payload
            raise
