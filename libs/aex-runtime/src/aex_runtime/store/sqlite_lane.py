"""Threads that own the connections, so that the event loop never waits for the disk."""

import asyncio
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Generic, TypeVar

import structlog

from aex_runtime.store.port import StoreUnavailable
from aex_runtime.store.sqlite_file import is_busy

Q = TypeVar("Q")
A = TypeVar("A")
_END_S = 5.0
"""What the end of a lane waits for its threads: as long as SQLite itself would wait for a lock."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Job(Generic[Q, A]):
    request: Q
    future: "asyncio.Future[A]"
    mailbox: "_Mailbox[A]"


class _Mailbox(Generic[A]):
    """Carries answers to the event loop; answers that come close together share one wake-up."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._answers: deque[tuple[asyncio.Future[A], A | Exception]] = deque()
        self._woken = False

    def deliver(self, future: "asyncio.Future[A]", answer: A | Exception) -> None:
        """Called in a thread."""
        self._answers.append((future, answer))
        if not self._woken:
            self._woken = True
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self.loop.call_soon_threadsafe(self._open)

    def _open(self) -> None:
        self._woken = False  # before emptying: an answer that comes from here on wakes again
        while self._answers:
            future, answer = self._answers.popleft()
            if future.done():
                continue  # its caller gave up
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)


@dataclass(frozen=True, slots=True)
class Work(Generic[Q, A]):
    """What the threads of a lane do. `answer` gets up to `group` requests that wait, and returns as many answers."""

    name: str
    connect: Callable[[], sqlite3.Connection]
    answer: Callable[[sqlite3.Connection, Sequence[Q]], Sequence[A | Exception]]
    translate: Callable[[Exception], Exception]
    threads: int = 1
    group: int = 1
    """More than 1 only for a lane of one thread."""
    waiting: int = 10_000
    """Requests that may wait; what comes while there are as many is refused at once."""
    turn: Callable[[], AbstractContextManager[object]] = nullcontext
    """Held while a group is answered; what comes while it is waited for joins the group."""


class Lane(Generic[Q, A]):
    """A queue of requests and the threads that answer them, each over a connection of its own."""

    def __init__(self, work: Work[Q, A]) -> None:
        self._work = work
        self._queue: SimpleQueue[_Job[Q, A] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._mailbox: _Mailbox[A] | None = None
        self._closed = False

    async def ask(self, request: Q, deadline_s: float) -> A:
        """The answer, or what went wrong. Raises `StoreUnavailable` past the deadline, or where too many wait.

        A request whose caller has given up before a thread took it is never begun.
        """
        if self._closed:
            raise StoreUnavailable(f"{self._work.name}: closed")
        if self._queue.qsize() >= self._work.waiting:
            raise StoreUnavailable(f"{self._work.name}: {self._work.waiting} requests wait already")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[A] = loop.create_future()
        if self._mailbox is None or self._mailbox.loop is not loop:
            self._mailbox = _Mailbox(loop)
        self._queue.put(_Job(request, future, self._mailbox))
        if not self._threads:
            self._start()
        try:
            async with asyncio.timeout(deadline_s):
                return await future
        except TimeoutError as error:
            raise StoreUnavailable(f"{self._work.name}: no answer within {deadline_s} s") from error

    async def close(self, within_s: float = _END_S) -> bool:
        """Answer what was asked, then let go of the connections. False where a thread is not through by then: it waits
        for another process, which may be frozen, and is left to the end of this one.
        """
        self._closed = True
        for _ in self._threads:
            self._queue.put(None)
        end = time.monotonic() + within_s
        for thread in self._threads:
            await asyncio.to_thread(thread.join, max(end - time.monotonic(), 0.0))
        left = sum(thread.is_alive() for thread in self._threads)
        if left:
            _log.warning("store_threads_left", lane=self._work.name, threads=left, waited_s=within_s)
        return not left

    def _start(self) -> None:
        for number in range(self._work.threads):
            thread = threading.Thread(target=self._serve, name=f"{self._work.name}-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self) -> None:
        connection: sqlite3.Connection | None = None
        while (job := self._queue.get()) is not None:
            group = [job]
            try:
                with self._work.turn():
                    if not (group := self._gather(job)):
                        continue
                    connection = connection or self._work.connect()
                    answers = self._work.answer(connection, [job.request for job in group])
            except Exception as error:  # noqa: BLE001 the callers get it, and the thread lives on
                answers = [self._work.translate(error) for _ in group]
                if connection is not None and isinstance(error, sqlite3.Error) and not is_busy(error):
                    connection.close()  # the next request opens the file anew
                    connection = None
            for served, answer in zip(group, answers, strict=True):
                served.mailbox.deliver(served.future, answer)
        if connection is not None:
            connection.close()

    def _gather(self, first: _Job[Q, A]) -> list[_Job[Q, A]]:
        group = [first]
        while len(group) < self._work.group and not self._queue.empty():
            job = self._queue.get()
            if job is None:  # close() was called: finish this group, then end
                self._queue.put(None)
                break
            group.append(job)
        return [job for job in group if not job.future.cancelled()]
