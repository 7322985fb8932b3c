"""Supervisor of a pool's workers, which starts, kills and replaces them."""

import asyncio
import contextlib
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import structlog

from aex_outcomes.confinement.child import StartFailed, WorkerListener, WorkerProcess, start_worker
from aex_outcomes.confinement.settings import Setup, WorkersUnavailable

_log = structlog.get_logger(__name__)

_STARTS_IN_A_ROW = 5
_USER, _SYSTEM = 11, 12
"""Positions of the fields after the process name in `/proc/PID/stat`."""
_jitter = random.SystemRandom().random


@dataclass(frozen=True, slots=True)
class PoolSpec:
    """Number of a pool's workers, and how each is started."""

    number: int
    setup: Setup
    max_answer_bytes: int
    start_timeout_s: float
    start_pause_s: float
    """First pause after a failed start; it doubles with each further failure."""


class WorkerSupervisor:
    """Supervisor that keeps a pool at its number of workers.

    `on_ready` is called with each worker that is ready for jobs. `on_none_left` is called with the reason if no worker
    is left and none can be started.
    """

    def __init__(
        self,
        spec: PoolSpec,
        listener: WorkerListener,
        on_ready: Callable[[WorkerProcess], None],
        on_none_left: Callable[[str], None],
    ) -> None:
        self._spec = spec
        self._listener = listener
        self._on_ready = on_ready
        self._on_none_left = on_none_left
        self._alive: set[WorkerProcess] = set()
        self._starting: set[asyncio.Task[None]] = set()
        self._reapings: set[asyncio.Task[int]] = set()
        self.missing_confinement: tuple[str, ...] = ()
        """Names of the confinement steps that the workers' system lacks."""
        self._closed = False

    @property
    def alive_count(self) -> int:
        """Return the number of started workers, idle or busy."""
        return len(self._alive)

    async def start(self) -> None:
        """Start all workers and wait until they are ready.

        If one fails, kills the others and raises `WorkersUnavailable`.
        """
        tasks = [self._track(asyncio.create_task(self._start())) for _ in range(self._spec.number)]
        try:
            await asyncio.gather(*tasks)
        except BaseException as error:
            await self.close()
            if isinstance(error, StartFailed):
                raise WorkersUnavailable(str(error)) from error
            raise

    def start_missing_workers(self) -> None:
        """Start as many workers as are missing, in the background; failed starts are retried after pauses."""
        missing = self._spec.number - len(self._alive) - len(self._starting)
        for _ in range(0 if self._closed else missing):
            self._track(asyncio.create_task(self._replace()))

    def terminate(self, child: WorkerProcess) -> "asyncio.Task[int]":
        """Kill a worker, and start another in the background; the returned task waits for its exit status."""
        self._alive.discard(child)
        child.kill()
        reaping = asyncio.create_task(child.reap())
        self._reapings.add(reaping)
        reaping.add_done_callback(self._reapings.discard)
        self.start_missing_workers()
        return reaping

    async def close(self) -> None:
        """Kill all workers and wait for their ends; no worker is started afterwards."""
        self._closed = True
        starting = list(self._starting)
        for task in starting:
            task.cancel()
        await asyncio.gather(*starting, return_exceptions=True)
        await asyncio.gather(*(child.reap() for child in self._alive), *self._reapings)
        self._alive.clear()

    def _track(self, start: "asyncio.Task[None]") -> "asyncio.Task[None]":
        self._starting.add(start)
        start.add_done_callback(self._starting.discard)
        return start

    async def _start(self) -> None:
        spec = self._spec
        child, missing = await start_worker(spec.setup, spec.max_answer_bytes, self._listener, spec.start_timeout_s)
        if missing and not self.missing_confinement:
            self.missing_confinement = missing
            _log.warning("confinement_degraded", missing=missing)
        self._alive.add(child)
        self._on_ready(child)

    async def _replace(self) -> None:
        for attempt in range(1, _STARTS_IN_A_ROW + 1):
            try:
                return await self._start()
            except StartFailed as error:
                reason = str(error)
            pause = self._spec.start_pause_s * 2 ** (attempt - 1) * (0.5 + _jitter())
            _log.warning("confined_worker_start_failed", attempt=attempt, reason=reason, pause_s=round(pause, 3))
            if attempt == _STARTS_IN_A_ROW and not self._alive:
                self._on_none_left(reason)
            else:
                await asyncio.sleep(pause)
        return None


def read_cpu_seconds(pid: int) -> float | None:
    """Return the seconds of processor time that a process has used; None if they are not reported."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return (int(fields[_USER]) + int(fields[_SYSTEM])) / os.sysconf("SC_CLK_TCK")
    return None
