"""Keeps a pool's number of workers: starts them, buries the dead, and starts others in their place."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from aex_outcomes.confinement.child import Child, Listener, StartFailed, start
from aex_outcomes.confinement.errors import WorkersUnavailable
from aex_outcomes.confinement.settings import Setup

_log = structlog.get_logger(__name__)

_STARTS_IN_A_ROW = 5
_jitter = random.SystemRandom().random


@dataclass(frozen=True, slots=True)
class Hiring:
    """How many workers there are, and how each is started; `start_pause_s` after a failure, doubled for each more."""

    number: int
    setup: Setup
    answer_limit: int
    start_timeout_s: float
    start_pause_s: float


class Staff:
    """The workers of one pool, however they stand.

    `on_ready` gets each worker that is warm. `on_none_left` is told when no worker is left and none can be started.
    """

    def __init__(
        self,
        hiring: Hiring,
        listener: Listener,
        on_ready: Callable[[Child], None],
        on_none_left: Callable[[str], None],
    ) -> None:
        self._hiring = hiring
        self._listener = listener
        self._on_ready = on_ready
        self._on_none_left = on_none_left
        self._alive: set[Child] = set()
        self._starting: set[asyncio.Task[None]] = set()
        self._burials: set[asyncio.Task[int]] = set()
        self._told_missing = False
        self._closed = False

    @property
    def alive(self) -> int:
        """Workers that are warm, idle or busy."""
        return len(self._alive)

    async def hire(self) -> None:
        """Start the first workers together. Raises `WorkersUnavailable`, and leaves none behind, if one fails."""
        tasks = [self._track(asyncio.create_task(self._start())) for _ in range(self._hiring.number)]
        try:
            await asyncio.gather(*tasks)
        except BaseException as error:
            await self.close()
            if isinstance(error, StartFailed):
                raise WorkersUnavailable(str(error)) from error
            raise

    def complete(self) -> None:
        """Start as many workers as are missing, in the background."""
        missing = self._hiring.number - len(self._alive) - len(self._starting)
        for _ in range(0 if self._closed else missing):
            self._track(asyncio.create_task(self._replace()))

    def dismiss(self, child: Child) -> "asyncio.Task[int]":
        """Kill a worker at once and start another; the task gives its exit status when it is gone."""
        self._alive.discard(child)
        child.kill()
        burial = asyncio.create_task(child.ended())
        self._burials.add(burial)
        burial.add_done_callback(self._burials.discard)
        self.complete()
        return burial

    async def close(self) -> None:
        """Kill every worker; returns when all are gone."""
        self._closed = True
        starting = list(self._starting)
        for task in starting:
            task.cancel()
        await asyncio.gather(*starting, return_exceptions=True)
        await asyncio.gather(*(child.ended() for child in self._alive), *self._burials)
        self._alive.clear()

    def _track(self, start: "asyncio.Task[None]") -> "asyncio.Task[None]":
        self._starting.add(start)
        start.add_done_callback(self._starting.discard)
        return start

    async def _start(self) -> None:
        hiring = self._hiring
        child, missing = await start(hiring.setup, hiring.answer_limit, self._listener, hiring.start_timeout_s)
        if missing and not self._told_missing:
            self._told_missing = True
            _log.warning("confinement_degraded", missing=missing)
        self._alive.add(child)
        self._on_ready(child)

    async def _replace(self) -> None:
        for attempt in range(1, _STARTS_IN_A_ROW + 1):
            try:
                return await self._start()
            except StartFailed as error:
                reason = str(error)
            pause = self._hiring.start_pause_s * 2 ** (attempt - 1) * (0.5 + _jitter())
            _log.warning("confined_worker_start_failed", attempt=attempt, reason=reason, pause_s=round(pause, 3))
            if attempt == _STARTS_IN_A_ROW and not self._alive:
                self._on_none_left(reason)
            else:
                await asyncio.sleep(pause)
        return None
