"""Threads that own SQLite connections and process requests in groups, for stores and queues.

The event loop never waits for the disk. Requests that arrive while a group commits go into the next group.
"""

import asyncio
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Generic, TypeVar

import structlog

from aex_runtime.sqlite_file import is_busy

Q = TypeVar("Q")
A = TypeVar("A")
_CLOSE_S = 5.0
"""As long as SQLite itself waits for a lock."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Request(Generic[Q, A]):
    content: Q
    future: "asyncio.Future[A]"
    mailbox: "_Mailbox[A]"


class _Mailbox(Generic[A]):
    """Results on their way from threads to the event loop; results close together wake it once."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._results: deque[tuple[asyncio.Future[A], A | Exception]] = deque()
        self._woken = False

    def deliver(self, future: "asyncio.Future[A]", result: A | Exception) -> None:
        """Pass a result to its future. Called in a worker's thread."""
        self._results.append((future, result))
        if not self._woken:
            self._woken = True
            with suppress(RuntimeError):  # the loop is closed: no caller waits
                self.loop.call_soon_threadsafe(self._open)

    def _open(self) -> None:
        self._woken = False  # before emptying: a result that comes from here on wakes the loop
        while self._results:
            future, result = self._results.popleft()
            if future.done():
                continue  # its caller gave up
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)


@dataclass(frozen=True, slots=True)
class WorkerSpec(Generic[Q, A]):
    """The parameters of a `GroupWorker`: what its threads do, and its limits."""

    name: str
    connect: Callable[[], sqlite3.Connection]
    process: Callable[[sqlite3.Connection, Sequence[Q]], Sequence[A | Exception]]
    """Processes up to `max_group` requests in one transaction and returns the result of each, or its error."""
    translate: Callable[[Exception], Exception]
    """Maps an error of a whole group to the error that the callers get."""
    unavailable: type[Exception]
    """Error class for a missed deadline, a closed worker, and a full queue."""
    threads: int = 1
    max_group: int = 1
    """The most requests of a group; more than 1 only with one thread."""
    max_waiting: int = 10_000
    """The most requests in the queue; further ones are refused at once."""
    lock: Callable[[], AbstractContextManager[object]] = nullcontext
    """Held while a group is processed. Requests that arrive while the thread waits for it join the group."""
    after_group: Callable[[Sequence[Q]], object] = field(default=lambda _: None)
    """Called after each successful group, once the lock is released."""
    skips_cancelled: bool = True
    """True to drop a request whose caller was cancelled before a thread took it."""


class GroupWorker(Generic[Q, A]):
    """A queue of requests, and threads that process them, each with a connection of its own."""

    def __init__(self, spec: WorkerSpec[Q, A]) -> None:
        self._spec = spec
        self._queue: SimpleQueue[_Request[Q, A] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._mailbox: _Mailbox[A] | None = None
        self._closed = False

    async def submit_and_wait(self, content: Q, deadline_s: float) -> A:
        """Queue a request and wait for its result. The first request starts the threads.

        Raises the error of the request. Raises the spec's `unavailable` past the deadline, once closed, and if the
        queue is full. A request that missed the deadline may still be processed.
        """
        spec = self._spec
        if self._closed:
            raise spec.unavailable(f"{spec.name}: closed")
        if self._queue.qsize() >= spec.max_waiting:
            raise spec.unavailable(f"{spec.name}: {spec.max_waiting} requests wait already")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[A] = loop.create_future()
        if self._mailbox is None or self._mailbox.loop is not loop:
            self._mailbox = _Mailbox(loop)
        self._queue.put(_Request(content, future, self._mailbox))
        if not self._threads:
            self._start()
        try:
            async with asyncio.timeout(deadline_s):
                return await future
        except TimeoutError as error:
            raise spec.unavailable(f"{spec.name}: no answer within {deadline_s} s") from error

    async def close(self, timeout_s: float = _CLOSE_S) -> bool:
        """Process the waiting requests and stop the threads; return False if one still runs at the time-out.

        Such a thread waits for another process, which may be frozen. It ends with this process.
        """
        self._closed = True
        for _ in self._threads:
            self._queue.put(None)
        end = time.monotonic() + timeout_s
        for thread in self._threads:
            await asyncio.to_thread(thread.join, max(end - time.monotonic(), 0.0))
        running = sum(thread.is_alive() for thread in self._threads)
        if running:
            _log.warning("sqlite_threads_abandoned", worker=self._spec.name, threads=running, waited_s=timeout_s)
        return not running

    def _start(self) -> None:
        for number in range(self._spec.threads):
            thread = threading.Thread(target=self._serve, name=f"{self._spec.name}-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self) -> None:
        connection: sqlite3.Connection | None = None
        while (request := self._queue.get()) is not None:
            group = [request]
            results: Sequence[A | Exception]
            try:
                with self._spec.lock():
                    if not (group := self._gather(request)):
                        continue
                    connection = connection or self._spec.connect()
                    contents = [each.content for each in group]
                    results = self._spec.process(connection, contents)
                self._spec.after_group(contents)
            except Exception as error:  # noqa: BLE001 the callers get it, and the thread lives on
                results = [self._spec.translate(error) for _ in group]
                if connection is not None and isinstance(error, sqlite3.Error) and not is_busy(error):
                    connection.close()  # the next request opens the file again
                    connection = None
            for each, result in zip(group, results, strict=True):
                each.mailbox.deliver(each.future, result)
        if connection is not None:
            connection.close()

    def _gather(self, first: _Request[Q, A]) -> list[_Request[Q, A]]:
        group = [first]
        while len(group) < self._spec.max_group and not self._queue.empty():
            request = self._queue.get()
            if request is None:  # close() was called: finish this group, then end
                self._queue.put(None)
                break
            group.append(request)
        return [each for each in group if not (self._spec.skips_cancelled and each.future.cancelled())]
