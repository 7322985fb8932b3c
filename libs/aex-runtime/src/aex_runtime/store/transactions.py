"""The transaction that all backends share: buffered writes, and retries after conflicts."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from aex_runtime.ids import RandomIds
from aex_runtime.store import port
from aex_runtime.store.limits import check_writes
from aex_runtime.store.port import Collection, Document, DocumentKey, Fields, T, Write

Read = Callable[[Collection, Sequence[str]], Awaitable[list[Document | None]]]
_log = structlog.get_logger(__name__)


class BufferedTransaction:
    """A transaction that collects its writes. It reads each document once and then returns it from memory."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._documents: dict[DocumentKey, Document | None] = {}
        self.expected: set[tuple[DocumentKey, int]] = set()
        """The versions that documents must have at the commit (0: absent). With two of one document it must fail."""
        self.writes: list[Write] = []

    async def get(self, collection: Collection, key: str) -> Document | None:
        return (await self.get_many(collection, (key,)))[0]

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        if self.writes and keys:
            raise port.ReadAfterWrite(f"{collection.name}/{keys[0]} was read after a write of the same transaction")
        unread = [key for key in dict.fromkeys(keys) if (collection.name, key) not in self._documents]
        documents = await self._read(collection, unread) if unread else []
        for key, document in zip(unread, documents, strict=True):
            document_key = (collection.name, key)
            self._documents[document_key] = document
            self.expected.add((document_key, document.version if document else 0))
        return [self._documents[collection.name, key] for key in keys]

    def create(self, collection: Collection, key: str, body: bytes, fields: Fields) -> None:
        self._add(Write("create", collection, key, body, dict(fields)))

    def update(self, collection: Collection, document: Document, body: bytes, fields: Fields) -> None:
        self.expected.add(((collection.name, document.key), document.version))
        self._add(Write("update", collection, document.key, body, dict(fields), document.version))

    def put(self, collection: Collection, key: str, body: bytes, fields: Fields) -> None:
        self._add(Write("put", collection, key, body, dict(fields)))

    def delete(self, collection: Collection, key: str) -> None:
        self._add(Write("delete", collection, key))

    @property
    def is_single_read(self) -> bool:
        """True if it wrote nothing and read at most one document; then it cannot be in conflict."""
        return len(self.expected) <= 1 and not self.writes

    def _add(self, write: Write) -> None:
        if len(self.writes) >= port.MAX_TRANSACTION_WRITES:
            raise port.InvalidDocument(f"a transaction writes at most {port.MAX_TRANSACTION_WRITES} documents")
        self.writes.append(write)


@dataclass(frozen=True, slots=True)
class TransactionRetry:
    """The number of tries of a transaction, and the waits between them.

    A wait grows with the time that the failed try took. Otherwise writers whose tries take 100 ms would retry after 4
    ms and collide again. `jitter` returns numbers in [0, 1); `sleep` and `monotonic` count in seconds.
    """

    tries: int = 12
    first_ms: float = 4.0
    max_ms: float = 1_000.0
    jitter: Callable[[], float] = field(default_factory=lambda: RandomIds().jitter)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    monotonic: Callable[[], float] = time.monotonic

    def jittered_wait_s(self, failures: int, took_s: float = 0.0) -> float:
        """Return a random wait in seconds, at most min(max, max(first, took) · 2^(failures−1)).

        `took_s` is the duration of the failed try.
        """
        step_ms = max(self.first_ms, took_s * 1_000) * 2.0 ** (failures - 1)
        return self.jitter() * min(self.max_ms, step_ms) / 1_000


class Committer(Protocol):
    """The methods of a backend that `run_with_retries` needs."""

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        """Return the documents as last committed, in the order of the keys, None for absent ones."""

    async def commit(self, transaction: BufferedTransaction) -> bool:
        """Apply all writes of the transaction, or none; return False after a conflict.

        Raises `AlreadyExists` if a document to create exists.
        """

    async def has_unchanged_reads(self, transaction: BufferedTransaction) -> bool:
        """Return whether every document that was read still has its version."""


async def run_with_retries(
    fn: Callable[[BufferedTransaction], Awaitable[T]], backend: Committer, retry: TransactionRetry
) -> T:
    """Run `fn` and commit its writes, again after each conflict; return the result of `fn`.

    An error of `fn` is raised only if the documents that it read are unchanged; else `fn` runs again. Raises
    `Contention` after the last try, and what `fn` and the commit raise.
    """
    for failures in range(1, retry.tries + 1):
        started = retry.monotonic()
        transaction = BufferedTransaction(backend.get_many)
        try:
            result = await fn(transaction)
        except Exception:
            if await backend.has_unchanged_reads(transaction):
                raise
        else:
            check_writes(transaction.writes)
            if await backend.commit(transaction):
                return result
        _log.debug("store.transaction_lost", run=failures, of=retry.tries)
        if failures < retry.tries:
            await retry.sleep(retry.jittered_wait_s(failures, retry.monotonic() - started))
    raise port.Contention(f"the transaction met conflicts in all of its {retry.tries} tries; retry later")
