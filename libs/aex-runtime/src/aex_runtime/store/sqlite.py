"""A record store in one SQLite file, which any number of processes on one machine may share."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar, cast

from aex_runtime.sqlite_file import StoreFile, read_transaction, translate_error
from aex_runtime.sqlite_worker import GroupWorker, WorkerSpec
from aex_runtime.store.limits import check_query
from aex_runtime.store.port import Collection, Document, Query, StoreUnavailable, T
from aex_runtime.store.sqlite_queries import select_by_query, select_document, select_documents
from aex_runtime.store.sqlite_writer import Commit, GroupWriter, has_expected_versions
from aex_runtime.store.transactions import BufferedTransaction, TransactionRetry, run_with_retries

_READERS = 3
_MAX_GROUP = 256
_PING_S = 3.0
R = TypeVar("R")
_Read = Callable[[sqlite3.Connection], object]


class SQLiteStore:
    """A record store in a SQLite file, with one writer thread, which commits in groups, and readers.

    Transactions hold no lock while their function runs. The commit checks the versions of the documents that were read.
    The first query or write of a collection creates its indexes. Another process may lock the file for up to `busy_s`.
    A call takes at most `deadline_s`; a commit that exceeds it may still happen.
    """

    def __init__(
        self, path: Path, *, busy_s: float = 5.0, deadline_s: float = 10.0, retry: TransactionRetry | None = None
    ) -> None:
        self._file = StoreFile(path, busy_s)
        self._deadline_s = deadline_s
        self._retry = retry or TransactionRetry()
        self._indexed: set[Collection] = set()
        self._write_group = GroupWriter()
        writing: WorkerSpec[Commit, bool] = WorkerSpec(
            f"{path} (writer)",
            lambda: self._file.connect(read_only=False),
            self._write,
            self._translate,
            StoreUnavailable,
            max_group=_MAX_GROUP,
            lock=self._file.write_lock.hold,
        )
        reading: WorkerSpec[_Read, object] = WorkerSpec(
            f"{path} (reader)",
            lambda: self._file.connect(read_only=True),
            lambda connection, requests: [request(connection) for request in requests],
            self._translate,
            StoreUnavailable,
            threads=_READERS,
        )
        self._writer, self._readers = GroupWorker(writing), GroupWorker(reading)

    async def get(self, collection: Collection, key: str) -> Document | None:
        return await self._read(lambda connection: select_document(connection, collection.name, key))

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        return await self._read(lambda connection: select_documents(connection, collection.name, keys))

    async def query_page(self, query: Query) -> list[Document]:
        check_query(query)
        if query.collection not in self._indexed:
            await self._writer.submit_and_wait(Commit(declared=(query.collection,)), self._deadline_s)
            self._indexed.add(query.collection)
        return await self._read(lambda connection: select_by_query(connection, query))

    async def transact(self, fn: Callable[[BufferedTransaction], Awaitable[T]]) -> T:
        return await run_with_retries(fn, self, self._retry)

    async def commit(self, transaction: BufferedTransaction) -> bool:
        """Commit the writes of a transaction; see `Committer.commit`."""
        if not transaction.writes:
            return await self.has_unchanged_reads(transaction)
        commit = Commit(tuple(transaction.expected), tuple(transaction.writes))
        return await self._writer.submit_and_wait(commit, self._deadline_s)

    async def has_unchanged_reads(self, transaction: BufferedTransaction) -> bool:
        """Return whether the documents that were read are unchanged; see `Committer.has_unchanged_reads`."""
        if transaction.is_single_read:
            return True
        expected = tuple(transaction.expected)

        def check(connection: sqlite3.Connection) -> bool:
            with read_transaction(connection):
                return has_expected_versions(connection, expected)

        return await self._read(check)

    async def ping(self) -> None:
        # With a write: readers work on while another process holds the lock, and on a full disk.
        deadline_s = min(_PING_S, self._deadline_s)
        writing = self._writer.submit_and_wait(Commit(probe=True), deadline_s)
        # Both are awaited though one fails, so that none remains running.
        for result in await asyncio.gather(self._read(self._probe, deadline_s), writing, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result

    async def close(self) -> None:
        ended = await self._writer.close()
        await self._readers.close()
        if ended:  # else its thread still waits for the lock
            self._file.write_lock.close()

    async def _read(self, read: Callable[[sqlite3.Connection], R], deadline_s: float | None = None) -> R:
        return cast(R, await self._readers.submit_and_wait(read, deadline_s or self._deadline_s))

    def _probe(self, connection: sqlite3.Connection) -> None:
        connection.execute("SELECT version FROM latest").fetchall()
        self._file.check_not_replaced()

    def _write(self, connection: sqlite3.Connection, commits: Sequence[Commit]) -> list[bool | Exception]:
        self._file.check_not_replaced()
        return self._write_group(connection, commits)

    def _translate(self, error: Exception) -> Exception:
        return translate_error(self._file.path, error) if isinstance(error, sqlite3.Error | OSError) else error
