"""A record store in memory, for the simulator and tests, with the rules of the durable stores."""

from collections.abc import Awaitable, Callable, Sequence

from aex_runtime.store.limits import check_query
from aex_runtime.store.ordering import Rank, index_sort_key, is_within_bound
from aex_runtime.store.port import AlreadyExists, Collection, Document, DocumentKey, Query, T, Write, truncate_page
from aex_runtime.store.transactions import BufferedTransaction, TransactionRetry, run_with_retries


class MemoryStore:
    """A record store in a dictionary, which commits one transaction at a time."""

    def __init__(self, retry: TransactionRetry | None = None) -> None:
        self._documents: dict[DocumentKey, Document] = {}
        self._version = 0  # of the store: a document that is created again never has a version that it had before
        self._retry = retry or TransactionRetry()

    async def get(self, collection: Collection, key: str) -> Document | None:
        return self._documents.get((collection.name, key))

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        return [self._documents.get((collection.name, key)) for key in keys]

    async def query_page(self, query: Query) -> list[Document]:
        check_query(query)
        found = [
            document
            for (name, _), document in self._documents.items()
            if name == query.collection.name and _matches(query, document)
        ]
        found.sort(key=lambda document: _position(query, document), reverse=query.direction == "desc")
        return truncate_page(found[: query.limit], query.max_bytes)

    async def transact(self, fn: Callable[[BufferedTransaction], Awaitable[T]]) -> T:
        return await run_with_retries(fn, self, self._retry)

    async def has_unchanged_reads(self, transaction: BufferedTransaction) -> bool:
        """Return whether the documents that were read are unchanged; see `Committer.has_unchanged_reads`."""
        return transaction.is_single_read or all(
            self._version_of(key) == version for key, version in transaction.expected
        )

    async def commit(self, transaction: BufferedTransaction) -> bool:
        """Commit the writes of a transaction; see `Committer.commit`."""
        if not await self.has_unchanged_reads(transaction):
            return False
        changes: dict[DocumentKey, Document | None] = {}
        for write in transaction.writes:
            self._apply(write, changes)
        for key, document in changes.items():
            if document is None:
                self._documents.pop(key, None)
            else:
                self._documents[key] = document
        self._version += bool(changes)
        return True

    def _version_of(self, key: DocumentKey) -> int:
        document = self._documents.get(key)
        return document.version if document else 0

    def _apply(self, write: Write, changes: dict[DocumentKey, Document | None]) -> None:
        key = write.document_key
        if write.kind == "delete":
            changes[key] = None
            return
        if write.kind == "create" and changes.get(key, self._documents.get(key)) is not None:
            raise AlreadyExists(*key)
        changes[key] = Document(write.key, write.body, write.fields, self._version + 1)

    async def ping(self) -> None:
        return None

    async def close(self) -> None:
        return None


def _matches(query: Query, document: Document) -> bool:
    if any(index_sort_key(document.fields.get(name)) != index_sort_key(value) for name, value in query.equal.items()):
        return False
    if query.order and document.fields.get(query.order) is None:
        return False  # as in Firestore: a document without the ordered field is not in the index
    if not all(is_within_bound(document.fields.get(query.order or ""), bound) for bound in query.bounds):
        return False
    if query.after is None:
        return True
    position, after = (
        _position(query, document),
        (index_sort_key(query.after[0] if query.order else None), query.after[1]),
    )
    return position > after if query.direction == "asc" else position < after


def _position(query: Query, document: Document) -> tuple[Rank, str]:
    return (index_sort_key(document.fields.get(query.order) if query.order else None), document.key)
