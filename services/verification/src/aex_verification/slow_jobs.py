"""Slow jobs: verifications and trials with custom code, a named verifier, raw data or a reviewer.

A job that waits for a slot holds ids, but no handler and no message. Its durable timer repeats it where this process
dies, or where it gives way to jobs of other consumers.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

import structlog

from aex_runtime.logs import describe_failure, exception_chain
from aex_runtime.telemetry import current_trace_context, resume_trace
from aex_verification.fair_slots import FairSlots, GaveWay

SLOTS = 6
"""Slow jobs at once: fewer than handle events and fewer than fire timers, so that contracts without any go on."""
MAX_WAITING = 64
_DRAIN_S = 4.0
"""Time of started jobs when the process stops; other background tasks have little more."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SlowJob:
    """Job whose durable timer is set. `key` is the id of its attempt or work, `name` that of its span."""

    key: str
    consumer_id: str
    name: str
    run: Callable[[ExitStack], Awaitable[None]]
    """Function that does the job, and closes the slot as soon as the slow part is over."""
    resume: Callable[[], Awaitable[None]]
    """Function that has the timer fire now, in whatever process."""


@dataclass(slots=True)
class _Started:
    job: SlowJob
    task: "asyncio.Task[None]"
    has_slot: bool = False


class SlowJobs:
    """Slow jobs of this process that run, or wait for a slot, outside of handlers."""

    def __init__(self, slots: FairSlots | None = None) -> None:
        self._slots = slots or FairSlots(SLOTS, MAX_WAITING)
        self._started: dict[str, _Started] = {}
        self._is_stopping = False

    def __contains__(self, key: str) -> bool:
        return key in self._started

    def try_acquire(self, consumer_id: str, slot: ExitStack) -> bool:
        """Try to hold a slot in a handler until `slot` is closed; return False when none is free."""
        return self._slots.try_acquire(consumer_id, slot)

    def may_wait(self, consumer_id: str) -> bool:
        """Return whether a job of the consumer may wait in memory."""
        return not self._is_stopping and self._slots.may_wait(consumer_id)

    def add(self, job: SlowJob) -> None:
        """Have a job wait for its turn and run in a task of its own.

        Without room its timer repeats it: others may have come while the timer was set.
        """
        if job.key in self:
            return
        running = _resume(job) if self._is_stopping else self._run(job, current_trace_context())
        task = asyncio.create_task(running, name=job.key)
        self._started[job.key] = _Started(job, task)
        task.add_done_callback(lambda _: self._forget(job))

    async def run(self) -> None:
        """Wait until cancelled; then resume by their timers the jobs that wait or do not end soon."""
        self._is_stopping = False
        try:
            await asyncio.Event().wait()
        finally:
            self._is_stopping = True
            await self._stop()

    async def _run(self, job: SlowJob, trace: Mapping[str, str]) -> None:
        try:
            with ExitStack() as slot:
                await self._slots.acquire(job.consumer_id, slot)
                self._started[job.key].has_slot = True
                with resume_trace(trace, job.name):
                    await job.run(slot)
        except GaveWay:
            _log.info("slow_job_displaced", job=job.key)
            self._forget(job)  # so that its timer does not find it here
            await _resume(job)
        except Exception as error:  # noqa: BLE001 its timer repeats it, whatever the error is
            _log.warning("slow_job_failed", job=job.key, failure=exception_chain(error))

    async def _stop(self) -> None:
        started = list(self._started.values())
        running = [each.task for each in started if each.has_slot]
        resumed = asyncio.gather(*(_end(each) for each in started if not each.has_slot))
        if running:
            await asyncio.wait(running, timeout=_DRAIN_S)
        await asyncio.gather(resumed, *(_end(each) for each in started if each.has_slot and not each.task.done()))

    def _forget(self, job: SlowJob) -> None:
        started = self._started.get(job.key)
        if started is not None and started.job is job:
            del self._started[job.key]


async def _end(started: _Started) -> None:
    started.task.cancel()
    await asyncio.gather(started.task, return_exceptions=True)
    await _resume(started.job)


async def _resume(job: SlowJob) -> None:
    try:
        await job.resume()
    except Exception as error:  # noqa: BLE001 its timer is set for later anyway
        _log.warning("slow_job_not_resumed", job=job.key, reason=describe_failure(error))
