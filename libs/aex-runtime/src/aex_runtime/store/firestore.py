"""A record store in Firestore, which any number of processes on any machine may share."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from aex_runtime.store import firestore_messages as messages
from aex_runtime.store.firestore_connection import FirestoreApi
from aex_runtime.store.firestore_documents import CommitPlan, merge_expected_versions, plan_commit
from aex_runtime.store.limits import check_query, is_valid_name
from aex_runtime.store.port import AlreadyExists, Collection, Document, DocumentKey, Query, T, truncate_page
from aex_runtime.store.transactions import BufferedTransaction, TransactionRetry, run_with_retries

_MAX_KEYS = 300
_FIRST_WAIT_MS, _MAX_WAIT_MS = 25.0, 4_000.0
"""Waits between the tries of a transaction: a commit takes 25 ms over the network, and far longer in collisions."""
_PING_S = 3.0
_PING: DocumentKey = ("ping", "ping")
"""Key of the document that `ping` reads; it is never written."""


class FirestoreStore:
    """A record store in Firestore, whose transactions hold no lock while their function runs.

    The commit is atomic and checks the versions of the documents that were read. Firestore's own transactions lock
    these documents; with ten of them on one document some never finish. A call takes at most `deadline_s`; a commit
    that exceeds it may still happen. An instance belongs to the event loop that first uses it.
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
        storable = [key for key in dict.fromkeys(document_keys) if all(map(is_valid_name, key))]
        found = await self._read(storable) if storable else {}
        return [found.get(self._database.document_path(key)) for key in document_keys]

    async def query_page(self, query: Query) -> list[Document]:
        check_query(query)
        request = messages.build_query_request(self._database, query)
        if request is None:
            return []
        responses = await self._api.run_query_with_retries(request)
        found = [messages.decode_document(response.document) for response in responses if response.HasField("document")]
        return truncate_page(found, query.max_bytes)

    async def transact(self, fn: Callable[[BufferedTransaction], Awaitable[T]]) -> T:
        return await run_with_retries(fn, self, self._retry)

    async def commit(self, transaction: BufferedTransaction) -> bool:
        """Commit the writes of a transaction; see `Committer.commit`."""
        if not transaction.writes:
            return await self.has_unchanged_reads(transaction)
        versions = merge_expected_versions(transaction.expected)
        if versions is None:
            return False
        plan = plan_commit(versions, transaction.writes)
        if plan.existing is not None:
            if await self._are_current(versions):
                raise AlreadyExists(*plan.existing)
            return False
        conditional = any(step.version is not None for step in plan.steps)
        if await self._api.commit(messages.build_commit_request(self._database, plan.steps), conditional=conditional):
            return True
        await self._check_created(versions, plan)
        return False

    async def has_unchanged_reads(self, transaction: BufferedTransaction) -> bool:
        """Return whether the documents that were read are unchanged; see `Committer.has_unchanged_reads`."""
        if transaction.is_single_read:
            return True
        versions = merge_expected_versions(transaction.expected)
        return versions is not None and await self._are_current(versions)

    async def ping(self) -> None:
        request = messages.build_batch_get_request(self._database, [_PING], versions_only=True)
        await self._api.batch_get_with_retries(request, min(_PING_S, self._deadline_s), tries=1)

    async def close(self) -> None:
        await self._api.close()

    async def _check_created(self, versions: dict[DocumentKey, int], plan: CommitPlan) -> None:
        """Raise `AlreadyExists` if a commit failed because a created document exists; return after a conflict."""
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
        """Return the versions of documents, all read at one moment; 0 stands for an absent document."""
        document_keys = list(keys)
        responses = await self._api.batch_get_with_retries(
            messages.build_batch_get_request(self._database, document_keys, versions_only=True)
        )
        found = {each.found.name: messages.document_version(each.found) for each in responses if each.HasField("found")}
        return {key: found.get(self._database.document_path(key), 0) for key in document_keys}

    async def _read(self, keys: Sequence[DocumentKey]) -> dict[str, Document]:
        """Return the documents that exist, by their resource names in Firestore."""
        if len(keys) > _MAX_KEYS:
            halves = keys[: len(keys) // 2], keys[len(keys) // 2 :]
            first, second = await asyncio.gather(*map(self._read, halves))
            return first | second
        responses = await self._api.batch_get_with_retries(
            messages.build_batch_get_request(self._database, keys, versions_only=False)
        )
        return {each.found.name: messages.decode_document(each.found) for each in responses if each.HasField("found")}
