"""Records in one SQLite file, shared by any number of processes on one machine."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar, cast

from aex_runtime.store.buffer import BufferedTransaction, Place
from aex_runtime.store.limits import check_query
from aex_runtime.store.port import Collection, Document, Query, T
from aex_runtime.store.rerun import Rerun, run
from aex_runtime.store.sqlite_file import StoreFile, translated
from aex_runtime.store.sqlite_lane import Lane, Work
from aex_runtime.store.sqlite_queries import select, select_many, select_query
from aex_runtime.store.sqlite_writer import Commit, GroupWriter, is_current

_READERS = 3
_GROUP = 256
_PING_S = 3.0
R = TypeVar("R")
_Read = Callable[[sqlite3.Connection], object]


class SQLiteStore:
    """One writer thread that commits in groups, a few reader threads, one file in WAL mode synced at every commit.

    Optimistic: transactions run beside each other and hold no lock while `fn` runs; what they read is checked in the
    write transaction. `busy_s` is how long other processes may hold the file, `deadline_s` how long any call may take
    (a commit that exceeds it may still happen).
    """

    def __init__(
        self, path: Path, *, busy_s: float = 5.0, deadline_s: float = 10.0, rerun: Rerun | None = None
    ) -> None:
        self._file = StoreFile(path, busy_s)
        self._deadline_s = deadline_s
        self._rerun = rerun or Rerun()
        self._indexed: set[Collection] = set()
        self._write_group = GroupWriter()
        writing: Work[Commit, bool] = Work(
            f"{path} (writer)",
            lambda: self._file.connect(read_only=False),
            self._write,
            self._translate,
            group=_GROUP,
            turn=self._file.turn,
        )
        reading: Work[_Read, object] = Work(
            f"{path} (reader)", lambda: self._file.connect(read_only=True), _answer, self._translate, threads=_READERS
        )
        self._writer, self._readers = Lane(writing), Lane(reading)

    async def get(self, collection: Collection, key: str) -> Document | None:
        return await self._read(lambda connection: select(connection, collection.name, key))

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        return await self._read(lambda connection: select_many(connection, collection.name, keys))

    async def query(self, query: Query) -> list[Document]:
        check_query(query)
        if query.collection not in self._indexed:
            await self._writer.ask(Commit(declared=(query.collection,)), self._deadline_s)
            self._indexed.add(query.collection)
        return await self._read(lambda connection: select_query(connection, query))

    async def transact(self, fn: Callable[[BufferedTransaction], Awaitable[T]]) -> T:
        return await run(fn, self, self._rerun)

    async def commit(self, transaction: BufferedTransaction) -> bool:
        """Apply everything or nothing; False where something that was read has changed."""
        if not transaction.writes:
            return await self.unchanged(transaction)
        commit = Commit(tuple(transaction.expected), tuple(transaction.writes))
        return await self._writer.ask(commit, self._deadline_s)

    async def unchanged(self, transaction: BufferedTransaction) -> bool:
        """Whether everything that the transaction expects is so."""
        if transaction.is_of_one_moment:
            return True
        expected = tuple(transaction.expected)
        return await self._read(lambda connection: _is_current(connection, expected))

    async def ping(self) -> None:
        # Written, too: whoever holds the lock, and a disk that is full, let everybody read on.
        deadline_s = min(_PING_S, self._deadline_s)
        writing = self._writer.ask(Commit(sounding=True), deadline_s)
        # Both are awaited though one fails, so that none is left running unseen.
        for result in await asyncio.gather(self._read(self._answers, deadline_s), writing, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result

    async def close(self) -> None:
        written = await self._writer.close()
        await self._readers.close()
        if written:  # else its thread still waits for its turn, by the very descriptor
            self._file.close()

    async def _read(self, read: Callable[[sqlite3.Connection], R], deadline_s: float | None = None) -> R:
        return cast(R, await self._readers.ask(read, deadline_s or self._deadline_s))

    def _answers(self, connection: sqlite3.Connection) -> None:
        connection.execute("SELECT version FROM latest").fetchall()
        self._file.check()

    def _write(self, connection: sqlite3.Connection, commits: Sequence[Commit]) -> list[bool | Exception]:
        self._file.check()
        return self._write_group(connection, commits)

    def _translate(self, error: Exception) -> Exception:
        return translated(self._file.path, error) if isinstance(error, sqlite3.Error | OSError) else error


def _answer(connection: sqlite3.Connection, requests: Sequence[_Read]) -> list[object]:
    return [request(connection) for request in requests]


def _is_current(connection: sqlite3.Connection, expected: Sequence[tuple[Place, int]]) -> bool:
    connection.execute("BEGIN")
    try:
        return is_current(connection, expected)
    finally:
        connection.execute("COMMIT")
