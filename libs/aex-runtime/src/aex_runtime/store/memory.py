"""A store in memory: for the simulator and for tests. The same rules as the durable backends."""

from collections.abc import Awaitable, Callable, Sequence

from aex_runtime.store.buffer import BufferedTransaction, Place, Write
from aex_runtime.store.limits import check_query
from aex_runtime.store.order import position, rank, within
from aex_runtime.store.port import AlreadyExists, Collection, Document, Query, T
from aex_runtime.store.rerun import Rerun, run


class MemoryStore:
    """Documents in a dictionary, committed one transaction at a time."""

    def __init__(self, rerun: Rerun | None = None) -> None:
        self._documents: dict[Place, Document] = {}
        self._version = 0  # of the whole store: a document made anew never has a version that it had before
        self._rerun = rerun or Rerun()

    async def get(self, collection: Collection, key: str) -> Document | None:
        return self._documents.get((collection.name, key))

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        return [self._documents.get((collection.name, key)) for key in keys]

    async def query(self, query: Query) -> list[Document]:
        check_query(query)
        found = [
            document
            for (name, _), document in self._documents.items()
            if name == query.collection.name and _matches(query, document)
        ]
        found.sort(key=lambda document: _here(query, document), reverse=query.direction == "desc")
        return found[: query.limit]

    async def transact(self, fn: Callable[[BufferedTransaction], Awaitable[T]]) -> T:
        return await run(fn, self, self._rerun)

    async def unchanged(self, transaction: BufferedTransaction) -> bool:
        """Whether everything that the transaction expects is so."""
        return transaction.is_of_one_moment or all(
            self._version_of(place) == version for place, version in transaction.expected
        )

    async def commit(self, transaction: BufferedTransaction) -> bool:
        """Apply everything or nothing; False where something that was read has changed."""
        if not await self.unchanged(transaction):
            return False
        changes: dict[Place, Document | None] = {}
        for write in transaction.writes:
            self._change(write, changes)
        for place, document in changes.items():
            if document is None:
                self._documents.pop(place, None)
            else:
                self._documents[place] = document
        self._version += bool(changes)
        return True

    def _version_of(self, place: Place) -> int:
        document = self._documents.get(place)
        return document.version if document else 0

    def _change(self, write: Write, changes: dict[Place, Document | None]) -> None:
        if write.kind == "delete":
            changes[write.place] = None
            return
        if write.kind == "create" and changes.get(write.place, self._documents.get(write.place)) is not None:
            raise AlreadyExists(*write.place)
        changes[write.place] = Document(write.key, write.body, write.fields, self._version + 1)

    async def ping(self) -> None:
        return None

    async def close(self) -> None:
        return None


def _matches(query: Query, document: Document) -> bool:
    if any(rank(document.fields.get(name)) != rank(value) for name, value in query.equal.items()):
        return False
    if query.order and document.fields.get(query.order) is None:
        return False  # as in Firestore: what lacks the ordered field is not in the index
    if not all(within(document.fields.get(query.order or ""), bound) for bound in query.bounds):
        return False
    if query.after is None:
        return True
    here, after = _here(query, document), position(query, *query.after)
    return here > after if query.direction == "asc" else here < after


def _here(query: Query, document: Document) -> tuple[tuple[int, int | str], str]:
    return position(query, document.fields.get(query.order) if query.order else None, document.key)
