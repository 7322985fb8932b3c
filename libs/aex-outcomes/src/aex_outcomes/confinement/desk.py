"""Gives jobs to workers as they come free, holds them to their deadlines, and judges their answers."""

import asyncio
import signal
from collections import deque
from dataclasses import dataclass
from typing import Any

import structlog

from aex_outcomes.confinement.answers import Answer, read_answer
from aex_outcomes.confinement.child import Child
from aex_outcomes.confinement.encoding import INLINE_BYTES
from aex_outcomes.confinement.errors import (
    ConfinementError,
    JobCrashed,
    JobTimeout,
    PoolBusy,
    PoolClosed,
    WorkersUnavailable,
)
from aex_outcomes.confinement.frames import BrokenFrame
from aex_outcomes.confinement.lanes import Lanes
from aex_outcomes.confinement.processor import cpu_seconds
from aex_outcomes.confinement.staff import Hiring, Staff

_log = structlog.get_logger(__name__)


@dataclass(eq=False, slots=True)
class Assignment:
    """A job that waits or runs."""

    job: str
    body: bytes
    timeout_s: float
    result: "asyncio.Future[dict[str, Any]]"

    def fail(self, error: ConfinementError) -> None:
        """End it without a result; nothing happens where whoever asked has gone."""
        if not self.result.done():
            self.result.set_exception(error)


@dataclass(frozen=True, slots=True)
class Running:
    """A job and the timer that will end it."""

    assignment: Assignment
    deadline: asyncio.TimerHandle
    cpu_before: float | None
    """Seconds of the processor that its worker had used when it took the job."""


class Desk:
    """Between the queue and the staff. All of it runs in callbacks of one event loop: no locks, and no task for a job.

    An answer belongs to the job that its worker holds, and a worker holds one at a time: it gets the next one only
    after the answer to the last was found in order. So answers are never mixed up, whoever stops listening.
    """

    def __init__(self, size: int, queue_limit: int, grace_s: float, max_jobs: int, hiring: Hiring) -> None:
        self._size = size
        self._grace_s = grace_s
        self._max_jobs = max_jobs
        self.staff = Staff(hiring, self, self._ready, self._none_left)
        self.waiting: Lanes[Assignment] = Lanes(queue_limit)
        self.busy: dict[Child, Running] = {}
        self._idle: deque[Child] = deque()
        self._readings: set[asyncio.Task[None]] = set()
        self._closed = False

    def accept(self, lane: str, assignment: Assignment) -> None:
        """Start a job, or let it wait. Raises `PoolBusy` and `PoolClosed`."""
        if self._closed:
            raise PoolClosed("the pool is closed")
        if self.waiting.full and not self._free():
            raise PoolBusy(f"{len(self.waiting)} jobs wait already")
        self.waiting.put(lane, assignment)
        self._assign()
        self.staff.complete()

    async def close(self) -> None:
        """End all jobs and all workers."""
        self._closed = True
        for running in self.busy.values():
            running.deadline.cancel()
        for assignment in [*self.waiting.drain(), *(running.assignment for running in self.busy.values())]:
            assignment.fail(PoolClosed("the pool was closed"))
        self.busy.clear()
        self._idle.clear()
        await self.staff.close()
        await asyncio.gather(*self._readings)

    def answered(self, child: Child, body: bytes) -> None:
        """A worker's answer; a big one is read in a thread, and its worker waits until it is found in order."""
        self.busy[child].deadline.cancel()
        if len(body) <= INLINE_BYTES:
            self._conclude(child, _read(body))
            return
        reading = asyncio.create_task(self._conclude_big(child, body))
        self._readings.add(reading)
        reading.add_done_callback(self._readings.discard)

    def lost(self, child: Child, reason: str) -> None:
        """A worker died or broke the protocol."""
        running = self.busy.pop(child, None)
        if child in self._idle:
            self._idle.remove(child)
        burial = self.staff.dismiss(child)
        if running is None:
            _log.warning("confined_worker_lost", pid=child.pid, reason=reason)
            return
        running.deadline.cancel()
        assignment = running.assignment
        burial.add_done_callback(lambda done: assignment.fail(_crash(assignment.job, reason, done)))

    def _free(self) -> bool:
        return bool(self._idle) and len(self.busy) < self._size

    def _assign(self) -> None:
        while len(self.waiting) and self._free():
            assignment, child = self.waiting.take(), self._idle.pop()
            allowed = assignment.timeout_s + self._grace_s
            deadline = asyncio.get_running_loop().call_later(allowed, self._expired, child)
            self.busy[child] = Running(assignment, deadline, cpu_seconds(child.pid))
            child.ask(assignment.body)

    def _ready(self, child: Child) -> None:
        self._idle.append(child)
        self._assign()

    def _none_left(self, reason: str) -> None:
        for assignment in self.waiting.drain():
            assignment.fail(WorkersUnavailable(reason))

    def _expired(self, child: Child) -> None:
        running, cpu_after = self.busy.pop(child), cpu_seconds(child.pid)
        assignment, before = running.assignment, running.cpu_before
        self.staff.dismiss(child)
        used = None if before is None or cpu_after is None else cpu_after - before
        assignment.fail(JobTimeout(f"{assignment.job} ran past its {assignment.timeout_s:g} s", used))
        self._assign()

    async def _conclude_big(self, child: Child, body: bytes) -> None:
        self._conclude(child, await asyncio.to_thread(_read, body))

    def _conclude(self, child: Child, answer: Answer | BrokenFrame) -> None:
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
            self.staff.dismiss(child)
        else:
            self._idle.append(child)
        self._assign()


def _read(body: bytes) -> Answer | BrokenFrame:
    try:
        return read_answer(body)
    except BrokenFrame as error:
        return error


def _crash(job: str, reason: str, burial: "asyncio.Task[int]") -> JobCrashed:
    status = 0 if burial.cancelled() else burial.result()
    if status < 0:
        reason += f", {signal.Signals(-status).name}"
    elif status > 0:
        reason += f", exit status {status}"
    return JobCrashed(f"{job}: {reason}")
