"""The one thread of a process that writes a queue file. What comes in while it commits goes into its next commit.

Processes take turns by a lock on a file beside the queue: the kernel wakes the next one at once. Left to SQLite they
would sleep and look again, which made publish-to-receive with three busy publishers about five times as slow (p50 and
p95). SQLite's own lock still is what keeps the data right.
"""

import asyncio
import fcntl
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from aex_runtime.bus.port import BusUnavailable
from aex_runtime.bus.queue import table

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

_MAX_BATCH = 256
_MAX_WAITING = 1_000
"""Pieces of work of a process: publishers send batches, and consumers wait for each of theirs."""
_LOCK_TIMEOUT_S = 5.0
_FIRST_LOCK_WAIT_S = 0.0002
_LAST_LOCK_WAIT_S = 0.005
_MAX_WAL_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Job:
    work: Work[Any]
    durable: bool
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]


class QueueWriter:
    """Runs work on one file, in the order in which it was handed over, several pieces to a commit."""

    def __init__(self, path: Path, on_durable: Callable[[], None], deadline_s: float = 10.0) -> None:
        """`on_durable` is called in the writer's thread after each commit that held durable work."""
        self._path = path
        self._on_durable = on_durable
        self._deadline_s = deadline_s
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._connection: sqlite3.Connection | None = None
        self._lock: int | None = None
        self._synchronous = ""
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=f"queue-{path.stem}", daemon=True)
        self._thread.start()

    async def run(self, work: Work[T], *, durable: bool) -> T:
        """The result of `work`, once committed; raises `BusUnavailable`, at the deadline too, or where too much waits.

        Handed over, work is done even if its caller gives up. `durable`: on disk when this returns. Claims and acks
        need not be: what a power cut takes back of them is delivered again, which at-least-once allows. A killed
        process loses neither.
        """
        if self._closed:
            raise BusUnavailable(f"{self._path} is closed")
        if self._jobs.qsize() >= _MAX_WAITING:
            raise BusUnavailable(f"{self._path}: {_MAX_WAITING} pieces of work wait already")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._jobs.put(_Job(work, durable, loop, future))
        try:
            async with asyncio.timeout(self._deadline_s):
                return await future
        except TimeoutError:
            raise BusUnavailable(f"{self._path}: no answer in {self._deadline_s} s") from None

    async def close(self) -> None:
        """Finish what was handed over, within the deadline, and close the file."""
        if not self._closed:
            self._closed = True
            self._jobs.put(None)
        await asyncio.to_thread(self._thread.join, self._deadline_s)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._commit(job)
        self._disconnect()

    def _commit(self, first: _Job) -> None:
        jobs = [first]
        try:
            connection = self._connection or self._connect()
            with self._turn():
                jobs += self._waiting()  # what came while we waited for our turn shares the commit
                durable = any(job.durable for job in jobs)
                results = self._transact(connection, [job.work for job in jobs], durable)
        except Exception as error:  # noqa: BLE001 a thread that died would leave every caller waiting
            self._disconnect()
            failure = BusUnavailable(f"{self._path}: {error}")
            _answer([(job, None, failure) for job in jobs])
            return
        if durable:
            self._on_durable()
        _answer([(job, result, None) for job, result in zip(jobs, results, strict=True)])

    def _waiting(self) -> list[_Job]:
        jobs: list[_Job] = []
        with suppress(queue.Empty):
            while len(jobs) < _MAX_BATCH:
                job = self._jobs.get_nowait()
                if job is None:
                    self._jobs.put(None)  # the end; it comes last
                    break
                jobs.append(job)
        return jobs

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if self._lock is None:
            self._lock = os.open(self._path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _transact(self, connection: sqlite3.Connection, works: Sequence[Work[Any]], durable: bool) -> list[Any]:
        mode = "FULL" if durable else "NORMAL"
        if mode != self._synchronous:
            connection.execute(f"PRAGMA synchronous = {mode}")
            self._synchronous = mode
        _when_unlocked(lambda: connection.execute("BEGIN IMMEDIATE"))
        try:
            results = [work(connection) for work in works]
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return results

    def _connect(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        connection = sqlite3.connect(self._path, timeout=0, isolation_level=None)
        self._connection = connection
        self._synchronous = ""
        os.chmod(self._path, 0o600)  # noqa: PTH101 events are nobody else's to read
        _when_unlocked(lambda: connection.execute("PRAGMA journal_mode = WAL"))
        connection.execute(f"PRAGMA journal_size_limit = {_MAX_WAL_BYTES}")
        _when_unlocked(lambda: connection.execute("BEGIN IMMEDIATE"))
        table.create(connection)
        connection.execute("COMMIT")
        return connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)


def _when_unlocked(statement: Callable[[], object]) -> None:
    """Run a statement once no other process holds the write lock, looking oftener than SQLite's own handler does."""
    deadline = time.monotonic() + _LOCK_TIMEOUT_S
    wait_s = _FIRST_LOCK_WAIT_S
    while True:
        try:
            statement()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(wait_s)
            wait_s = min(wait_s * 1.5, _LAST_LOCK_WAIT_S)
        else:
            return


def _answer(answers: Sequence[tuple[_Job, Any, BusUnavailable | None]]) -> None:
    """Hand results to the loops that wait for them, one hop for each loop."""
    loops = {answer[0].loop for answer in answers}
    for loop in loops:
        mine = [answer for answer in answers if answer[0].loop is loop]
        try:
            loop.call_soon_threadsafe(_resolve, mine)
        except RuntimeError:  # the loop is closed: nobody waits any more
            continue


def _resolve(answers: Sequence[tuple[_Job, Any, BusUnavailable | None]]) -> None:
    for job, result, failure in answers:
        if job.future.done():
            continue
        if failure is None:
            job.future.set_result(result)
        else:
            job.future.set_exception(failure)
