"""Records in Firestore, shared by any number of processes on any machine."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from aex_runtime.store import firestore_messages as messages
from aex_runtime.store.firestore_connection import FirestoreApi
from aex_runtime.store.firestore_documents import CommitPlan, plan_commit, required_versions
from aex_runtime.store.limits import check_query, is_name
from aex_runtime.store.port import AlreadyExists, Collection, Document, DocumentKey, Query, T, limit_bytes
from aex_runtime.store.transactions import BufferedTransaction, TransactionRetry, run

_MAX_KEYS = 300
_FIRST_WAIT_MS, _MAX_WAIT_MS = 25.0, 4_000.0
"""A commit takes about 25 ms over the network, and far longer when fifty collide on a slow server."""
_PING_S = 3.0
_PING: DocumentKey = ("ping", "ping")
"""Never written."""


class FirestoreStore:
    """A store whose transactions hold no lock while `fn` runs.

    An atomic commit checks the versions that they read. Firestore's own transactions would lock these documents, and
    ten of them on one document starve. A call takes at most `deadline_s`; a commit that exceeds it may still happen.
    Belongs to the event loop that first uses it.
    """

    def __init__(
        self,
        project: str,
        database: str = "(default)",
        *,
        emulator: str | None = None,
        deadline_s: float = 10.0,
        retry: TransactionRetry | None = None,
    ) -> None:
        self._database = messages.FirestoreDatabase(project, database)
        self._api = FirestoreApi(self._database, emulator, deadline_s)
        self._deadline_s = deadline_s
        self._retry = retry or TransactionRetry(first_ms=_FIRST_WAIT_MS, max_ms=_MAX_WAIT_MS)

    async def get(self, collection: Collection, key: str) -> Document | None:
        return (await self.get_many(collection, (key,)))[0]

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        document_keys = [(collection.name, key) for key in keys]
        storable = [key for key in dict.fromkeys(document_keys) if all(map(is_name, key))]
        found = await self._read(storable) if storable else {}
        return [found.get(self._database.document(key)) for key in document_keys]

    async def query(self, query: Query) -> list[Document]:
        check_query(query)
        request = messages.run_query(self._database, query)
        if request is None:
            return []
        responses = await self._api.run_query(request)
        found = [messages.document_of(response.document) for response in responses if response.HasField("document")]
        return limit_bytes(found, query.max_bytes)

    async def transact(self, fn: Callable[[BufferedTransaction], Awaitable[T]]) -> T:
        return await run(fn, self, self._retry)

    async def commit(self, transaction: BufferedTransaction) -> bool:
        """See `Committer`."""
        if not transaction.writes:
            return await self.is_current(transaction)
        versions = required_versions(transaction.expected)
        if versions is None:
            return False
        plan = plan_commit(versions, transaction.writes)
        if plan.existing is not None:
            if await self._are_current(versions):
                raise AlreadyExists(*plan.existing)
            return False
        conditional = any(step.version is not None for step in plan.steps)
        if await self._api.commit(messages.commit(self._database, plan.steps), conditional=conditional):
            return True
        await self._check_created(versions, plan)
        return False

    async def is_current(self, transaction: BufferedTransaction) -> bool:
        """See `Committer`."""
        if transaction.is_single_read:
            return True
        versions = required_versions(transaction.expected)
        return versions is not None and await self._are_current(versions)

    async def ping(self) -> None:
        request = messages.batch_get(self._database, [_PING], versions_only=True)
        await self._api.batch_get(request, min(_PING_S, self._deadline_s), tries=1)

    async def close(self) -> None:
        await self._api.close()

    async def _check_created(self, versions: dict[DocumentKey, int], plan: CommitPlan) -> None:
        """Raise `AlreadyExists` if a commit failed for an existing document, not for a conflict."""
        if not plan.created:
            return
        current = await self._versions_of((*versions, *plan.created))
        if any(current[key] != version for key, version in versions.items()):
            return
        for key in plan.created:
            if current[key]:
                raise AlreadyExists(*key)

    async def _are_current(self, versions: dict[DocumentKey, int]) -> bool:
        return await self._versions_of(versions) == versions

    async def _versions_of(self, keys: Iterable[DocumentKey]) -> dict[DocumentKey, int]:
        """Return the versions of one moment (0: absent)."""
        document_keys = list(keys)
        responses = await self._api.batch_get(messages.batch_get(self._database, document_keys, versions_only=True))
        found = {each.found.name: messages.version_of(each.found) for each in responses if each.HasField("found")}
        return {key: found.get(self._database.document(key), 0) for key in document_keys}

    async def _read(self, keys: Sequence[DocumentKey]) -> dict[str, Document]:
        """Return the existing documents by their names in Firestore."""
        if len(keys) > _MAX_KEYS:
            halves = keys[: len(keys) // 2], keys[len(keys) // 2 :]
            first, second = await asyncio.gather(*map(self._read, halves))
            return first | second
        responses = await self._api.batch_get(messages.batch_get(self._database, keys, versions_only=False))
        return {each.found.name: messages.document_of(each.found) for each in responses if each.HasField("found")}
