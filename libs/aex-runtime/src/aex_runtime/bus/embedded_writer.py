"""The writer of a queue file, in which the operations of several callers share a commit."""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from aex_runtime.bus import embedded_table
from aex_runtime.bus.port import BusUnavailable
from aex_runtime.sqlite_file import WriteLock, write_transaction
from aex_runtime.sqlite_worker import GroupWorker, WorkerSpec

T = TypeVar("T")
QueueOperation = Callable[[sqlite3.Connection], T]

_MAX_GROUP = 256
_MAX_WAITING = 1_000
"""Publishers send batches, and consumers wait for each result."""
_BUSY_S = 5.0
_MAX_WAL_BYTES = 64 * 1024 * 1024


_Job = tuple[QueueOperation[Any], bool]
"""An operation, and whether its result must be on the disk when the caller gets it."""


class QueueWriter:
    """A thread that runs operations on one queue file, in the order in which they were submitted."""

    def __init__(self, path: Path, on_durable: Callable[[], None], deadline_s: float = 10.0) -> None:
        """Create a writer for the file at `path`.

        `on_durable` is called in the writer's thread after each commit that included a durable operation.
        """
        self._path = path
        self._deadline_s = deadline_s
        self._lock = WriteLock(path.with_suffix(".lock"))
        self._synchronous = ""
        spec: WorkerSpec[_Job, Any] = WorkerSpec(
            str(path),
            self._connect,
            self._commit,
            lambda error: BusUnavailable(f"{path}: {error}"),
            BusUnavailable,
            max_group=_MAX_GROUP,
            max_waiting=_MAX_WAITING,
            lock=self._lock.hold,
            after_group=lambda jobs: on_durable() if any(durable for _, durable in jobs) else None,
            skips_cancelled=False,
        )
        self._worker = GroupWorker(spec)

    async def run_and_commit(self, operation: QueueOperation[T], *, durable: bool) -> T:
        """Run an operation and return its result once it is committed.

        The operation runs even if the caller is cancelled. With `durable` the commit is on the disk. Leases and acks do
        not need that: a killed process loses neither, and after a power cut they are only repeated. Raises
        `BusUnavailable`, also past the deadline.
        """
        return cast(T, await self._worker.submit_and_wait((operation, durable), self._deadline_s))

    async def close(self) -> None:
        """Finish the submitted operations, within the deadline, and close the file."""
        if await self._worker.close(self._deadline_s):
            self._lock.close()

    def _commit(self, connection: sqlite3.Connection, jobs: Sequence[_Job]) -> list[Any]:
        mode = "FULL" if any(durable for _, durable in jobs) else "NORMAL"
        if mode != self._synchronous:
            connection.execute(f"PRAGMA synchronous = {mode}")
            self._synchronous = mode
        with write_transaction(connection):
            return [work(connection) for work, _ in jobs]

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None)
        try:
            self._path.chmod(0o600)  # other users of the machine may not read events
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA journal_size_limit = {_MAX_WAL_BYTES}")
            with write_transaction(connection):
                embedded_table.create_table(connection)
        except BaseException:
            connection.close()
            raise
        self._synchronous = ""
        return connection
