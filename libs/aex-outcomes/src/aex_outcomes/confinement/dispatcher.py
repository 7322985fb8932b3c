"""Dispatcher of a pool's jobs to idle workers, with a fair queue, deadlines and checks of the answers."""

import asyncio
import signal
from collections import deque
from dataclasses import dataclass
from typing import Any

import structlog

from aex_outcomes.confinement.child import WorkerProcess
from aex_outcomes.confinement.encoding import INLINE_BYTES
from aex_outcomes.confinement.fair_queue import FairQueue
from aex_outcomes.confinement.frames import BrokenFrame, JobAnswer, decode_answer
from aex_outcomes.confinement.settings import (
    ConfinementError,
    JobCrashed,
    JobTimeout,
    PoolBusy,
    PoolClosed,
    WorkersUnavailable,
)
from aex_outcomes.confinement.supervisor import PoolSpec, WorkerSupervisor, read_cpu_seconds

_log = structlog.get_logger(__name__)


@dataclass(eq=False, slots=True)
class Assignment:
    """Job that waits for a worker or runs, with the future of its result."""

    job: str
    body: bytes
    """Encoded request."""
    timeout_s: float
    result: "asyncio.Future[dict[str, Any]]"

    def fail(self, error: ConfinementError) -> None:
        """Set the error as the job's result; does nothing if the result is set or the caller cancelled."""
        if not self.result.done():
            self.result.set_exception(error)


@dataclass(frozen=True, slots=True)
class RunningJob:
    """Job that a worker runs."""

    assignment: Assignment
    deadline: asyncio.TimerHandle
    """Timer that kills the worker."""
    cpu_before: float | None
    """Processor seconds that the worker had used before the job; None if unknown."""


class Dispatcher:
    """Dispatcher that gives queued jobs to idle workers, in callbacks of one event loop and without locks.

    A worker has one job at a time, and gets the next one only after a valid answer to the last.
    """

    def __init__(self, size: int, queue_limit: int, grace_s: float, max_jobs: int, spec: PoolSpec) -> None:
        self._size = size
        self._grace_s = grace_s
        self._max_jobs = max_jobs
        self.workers = WorkerSupervisor(spec, self, self._on_ready, self._on_none_left)
        self.waiting: FairQueue[Assignment] = FairQueue(queue_limit)
        self.busy: dict[WorkerProcess, RunningJob] = {}
        self._idle: deque[WorkerProcess] = deque()
        self._decodings: set[asyncio.Task[None]] = set()
        self._closed = False

    def submit(self, queue: str, assignment: Assignment) -> None:
        """Give a job to an idle worker or queue it under a named queue. Raises `PoolBusy` and `PoolClosed`."""
        if self._closed:
            raise PoolClosed("the pool is closed")
        if self.waiting.is_full and not self._has_idle_worker():
            raise PoolBusy(f"{len(self.waiting)} jobs wait already, which is the limit")
        self.waiting.put(queue, assignment)
        self._assign()
        self.workers.start_missing_workers()

    async def close(self) -> None:
        """Fail all jobs with `PoolClosed`, and kill all workers and wait for their ends."""
        self._closed = True
        for running in self.busy.values():
            running.deadline.cancel()
        for assignment in [*self.waiting.drain(), *(running.assignment for running in self.busy.values())]:
            assignment.fail(PoolClosed("the pool was closed"))
        self.busy.clear()
        self._idle.clear()
        await self.workers.close()
        await asyncio.gather(*self._decodings)

    def on_answer(self, child: WorkerProcess, body: bytes) -> None:
        """Decode a worker's answer, a large one in a thread, and set it as the result of its job."""
        if child not in self.busy:
            return  # closed before the answer arrived
        self.busy[child].deadline.cancel()
        if len(body) <= INLINE_BYTES:
            self._finish(child, _read(body))
            return
        decoding = asyncio.create_task(self._finish_large(child, body))
        self._decodings.add(decoding)
        decoding.add_done_callback(self._decodings.discard)

    def on_loss(self, child: WorkerProcess, reason: str) -> None:
        """Replace a worker that died or broke the protocol, and fail its job with `JobCrashed`."""
        running = self.busy.pop(child, None)
        if child in self._idle:
            self._idle.remove(child)
        reaping = self.workers.terminate(child)
        if running is None:
            _log.warning("confined_worker_lost", pid=child.pid, reason=reason)
            return
        running.deadline.cancel()
        assignment = running.assignment
        reaping.add_done_callback(lambda done: assignment.fail(_crash_error(assignment.job, reason, done)))

    def _has_idle_worker(self) -> bool:
        return bool(self._idle) and len(self.busy) < self._size

    def _assign(self) -> None:
        while len(self.waiting) and self._has_idle_worker():
            assignment, child = self.waiting.take_next(), self._idle.pop()
            time_limit_s = assignment.timeout_s + self._grace_s
            deadline = asyncio.get_running_loop().call_later(time_limit_s, self._expire, child)
            self.busy[child] = RunningJob(assignment, deadline, read_cpu_seconds(child.pid))
            child.send(assignment.body)

    def _on_ready(self, child: WorkerProcess) -> None:
        self._idle.append(child)
        self._assign()

    def _on_none_left(self, reason: str) -> None:
        for assignment in self.waiting.drain():
            assignment.fail(WorkersUnavailable(reason))

    def _expire(self, child: WorkerProcess) -> None:
        running, cpu_after = self.busy.pop(child), read_cpu_seconds(child.pid)
        assignment, before = running.assignment, running.cpu_before
        self.workers.terminate(child)
        used_s = None if before is None or cpu_after is None else cpu_after - before
        assignment.fail(JobTimeout(f"{assignment.job} ran past its {assignment.timeout_s:g} s", used_s))
        self._assign()

    async def _finish_large(self, child: WorkerProcess, body: bytes) -> None:
        self._finish(child, await asyncio.to_thread(_read, body))

    def _finish(self, child: WorkerProcess, answer: JobAnswer | BrokenFrame) -> None:
        running = self.busy.pop(child, None)
        if running is None:
            return  # closed, or the worker lost, while the answer was read
        assignment = running.assignment
        if isinstance(answer, BrokenFrame):
            assignment.fail(JobCrashed(f"{assignment.job} answered {answer}"))
        elif answer.error is not None:
            assignment.fail(answer.error)
        elif not assignment.result.done():
            assignment.result.set_result(answer.result)
        if isinstance(answer, BrokenFrame) or answer.retire or child.jobs >= self._max_jobs:
            self.workers.terminate(child)
        else:
            self._idle.append(child)
        self._assign()


def _read(body: bytes) -> JobAnswer | BrokenFrame:
    try:
        return decode_answer(body)
    except BrokenFrame as error:
        return error


def _crash_error(job: str, reason: str, reaping: "asyncio.Task[int]") -> JobCrashed:
    status = 0 if reaping.cancelled() else reaping.result()
    if status < 0:
        reason += f", {signal.Signals(-status).name}"
    elif status > 0:
        reason += f", exit status {status}"
    return JobCrashed(f"{job}: {reason}", status)
