"""Calls to Firestore: each with a deadline, reads tried again within it, errors translated."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import structlog
from grpc import StatusCode
from grpc.aio import AioRpcError, UnaryStreamMultiCallable

from aex_runtime.store.firestore_channel import Connection, connect
from aex_runtime.store.firestore_errors import CONDITION_FAILED, WORTH_RETRYING, translated
from aex_runtime.store.firestore_wire import Database
from aex_runtime.store.port import StoreUnavailable
from aex_runtime.store.rerun import Rerun

_log = structlog.get_logger(__name__)
ONCE = Rerun(tries=1)
_READS = Rerun(tries=3, first_ms=100, longest_ms=400)
R = TypeVar("R")


class FirestoreApi:
    """One database, reached over one connection that its first call makes, in the loop of that call."""

    def __init__(self, database: Database, emulator: str | None, deadline_s: float) -> None:
        self._database = database
        self._emulator = emulator
        self._deadline_s = deadline_s
        self._connecting = asyncio.Lock()
        self._connection: Connection | None = None
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False

    async def batch_get(self, request: Any, deadline_s: float | None = None, again: Rerun = _READS) -> list[Any]:
        """The answers of `BatchGetDocuments`. Raises `StoreUnavailable`, `StoreError`."""
        return await self._read(
            "BatchGetDocuments", lambda to: to.batch_get, request, deadline_s or self._deadline_s, again
        )

    async def run_query(self, request: Any) -> list[Any]:
        """The answers of `RunQuery`. Raises `StoreUnavailable`, `StoreError`."""
        return await self._read("RunQuery", lambda to: to.run_query, request, self._deadline_s, _READS)

    async def commit(self, request: Any, *, conditional: bool) -> bool:
        """Write all, or nothing: False where a condition does not hold, or others were in the way.

        Never tried again here: where an answer is missing (`StoreUnavailable`), all of it may have been written.
        """

        async def ask(connection: Connection) -> bool:
            await connection.commit(request, timeout=self._deadline_s, metadata=connection.metadata)
            return True

        try:
            return await self._call(ask, self._deadline_s)
        except AioRpcError as error:
            if error.code() is StatusCode.ABORTED or (conditional and error.code() in CONDITION_FAILED):
                return False
            raise translated("Commit", self._database, error) from None

    async def close(self) -> None:
        """Wait for the calls under way, which end by their deadlines, and let go of the connection.

        A channel that is closed over their heads would cancel the tasks that wait for them.
        """
        self._closed = True
        await self._idle.wait()
        if self._connection is not None:
            await self._connection.channel.close()

    async def _read(
        self,
        name: str,
        method: Callable[[Connection], UnaryStreamMultiCallable[Any, Any]],
        request: Any,
        deadline_s: float,
        again: Rerun,
    ) -> list[Any]:
        clock = asyncio.get_running_loop().time
        ends = clock() + deadline_s

        async def ask(connection: Connection) -> list[Any]:
            left_s = max(0.0, ends - clock())
            answers = method(connection)(request, timeout=left_s, metadata=connection.metadata)
            return [answer async for answer in answers]

        failed = 0
        while True:
            try:
                return await self._call(ask, ends - clock())
            except AioRpcError as error:
                failed += 1
                wait_s = again.wait_s(failed)
                if error.code() not in WORTH_RETRYING or failed >= again.tries or clock() + wait_s >= ends:
                    raise translated(name, self._database, error) from None
                _log.warning("store.read_again", call=name, code=error.code().name, failed=failed, wait_s=wait_s)
                await again.pause(wait_s)

    async def _call(self, ask: Callable[[Connection], Awaitable[R]], deadline_s: float) -> R:
        if self._closed:
            raise StoreUnavailable(f"Firestore {self._database.path}: closed")
        self._under_way += 1
        self._idle.clear()
        try:
            return await ask(self._connection or await self._connect(deadline_s))
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    async def _connect(self, deadline_s: float) -> Connection:
        try:
            async with asyncio.timeout(deadline_s), self._connecting:
                if self._connection is None:
                    self._connection = await connect(self._database, self._emulator)
                return self._connection
        except TimeoutError:
            raise StoreUnavailable(f"Firestore {self._database.path}: no credentials before the deadline") from None
