"""Slow jobs: verifications and trials with slow metrics, a named verifier, raw data or a reviewer.

A job that waits for a slot occupies no handler and no message. Its durable timer repeats it if this process dies, or
if jobs of other consumers displace it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

import structlog

from aex_runtime.logs import describe_failure, exception_chain
from aex_runtime.telemetry import current_trace_context, resume_trace
from aex_verification.fair_slots import FairSlots, NoSlot

SLOTS = 6
"""Slow jobs in progress at once: fewer than the handlers of events and timers, so that other contracts continue."""
MAX_WAITING = 64
_DRAIN_S = 4.0
"""Seconds that started jobs get to finish when the process stops."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SlowJob:
    """Job that waits for a slot. Its durable timer is set already, and repeats it if this process dies."""

    key: str
    """Id of the attempt or work."""
    consumer_id: str
    name: str
    """Name of the job's trace span."""
    run: Callable[[ExitStack], Awaitable[None]]
    """Function that does the job, and closes the slot as soon as the slow part is over."""
    resume: Callable[[], Awaitable[None]]
    """Function that makes the timer fire now, in any process."""


@dataclass(slots=True)
class _Started:
    job: SlowJob
    task: "asyncio.Task[None]"
    has_slot: bool = False


class SlowJobs:
    """Slow jobs of this process, in progress or waiting for a slot, in tasks of their own."""

    def __init__(self, slots: FairSlots | None = None) -> None:
        self._slots = slots or FairSlots(SLOTS, MAX_WAITING)
        self._started: dict[str, _Started] = {}
        self._is_stopping = False

    def __contains__(self, key: str) -> bool:
        return key in self._started

    def try_acquire(self, consumer_id: str, release_stack: ExitStack) -> bool:
        """Take a slot for a handler until the exit stack is closed; return False if none is free."""
        return self._slots.try_acquire(consumer_id, release_stack)

    def may_wait(self, consumer_id: str) -> bool:
        """Return whether a further job of the consumer may wait in memory."""
        return not self._is_stopping and self._slots.may_wait(consumer_id)

    def start(self, job: SlowJob) -> None:
        """Start a task in which the job waits for a slot and runs; do nothing if it was started before.

        If too many jobs wait, or the process stops, the job's timer is made to fire instead.
        """
        if job.key in self:
            return
        running = _resume(job) if self._is_stopping else self._run(job, current_trace_context())
        task = asyncio.create_task(running, name=job.key)
        self._started[job.key] = _Started(job, task)
        task.add_done_callback(lambda _: self._forget(job))

    async def run(self) -> None:
        """Wait until cancelled; then stop the jobs, and make the timers of unfinished ones fire.

        Jobs with a slot first get some seconds to finish.
        """
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
        except NoSlot:
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
