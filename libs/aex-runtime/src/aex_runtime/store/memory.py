"""A store in memory: for the simulator and for tests. The same rules as the durable backends."""

from collections.abc import Awaitable, Callable, Sequence

from aex_runtime.store.buffer import BufferedTransaction, Write
from aex_runtime.store.limits import check_document
from aex_runtime.store.port import AlreadyExists, Collection, Contention, Document, Query, Scalar, T

_TRIES = 10


class MemoryStore:
    """Documents in a dictionary, committed one transaction at a time."""

    def __init__(self) -> None:
        self._documents: dict[tuple[str, str], Document] = {}

    async def get(self, collection: Collection, key: str) -> Document | None:
        return self._documents.get((collection.name, key))

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        return [self._documents.get((collection.name, key)) for key in keys]

    async def query(self, query: Query) -> list[Document]:
        query.index()
        found = [
            document
            for (name, _), document in self._documents.items()
            if name == query.collection.name and _matches(query, document)
        ]
        found.sort(key=lambda document: position(query, document), reverse=query.direction == "desc")
        return found[: query.limit]

    async def transact(self, fn: Callable[[BufferedTransaction], Awaitable[T]]) -> T:
        for _ in range(_TRIES):
            transaction = BufferedTransaction(self.get)
            result = await fn(transaction)
            if self._commit(transaction):
                return result
        raise Contention("the transaction lost against others too often")

    def _commit(self, transaction: BufferedTransaction) -> bool:
        """Apply everything or nothing; False where something that was read has changed."""
        if any(self._version(place) != version for place, version in transaction.read_versions.items()):
            return False
        for write in transaction.writes:
            if write.kind == "create" and (write.collection, write.key) in self._documents:
                raise AlreadyExists(write.collection, write.key)
        for write in transaction.writes:
            self._apply(write)
        return True

    def _version(self, place: tuple[str, str]) -> int:
        document = self._documents.get(place)
        return document.version if document else 0

    def _apply(self, write: Write) -> None:
        place = (write.collection, write.key)
        if write.kind == "delete":
            self._documents.pop(place, None)
            return
        check_document(write)
        self._documents[place] = Document(write.key, write.body, write.fields, self._version(place) + 1)

    async def ping(self) -> None:
        return None

    async def close(self) -> None:
        return None


def position(query: Query, document: Document) -> tuple[bool, Scalar, str]:
    """Where a document stands in the query's order."""
    value = document.fields.get(query.order) if query.order else None
    return (value is not None, 0 if value is None else value, document.key)


def _matches(query: Query, document: Document) -> bool:
    if any(document.fields.get(name) != value for name, value in query.equal.items()):
        return False
    value = document.fields.get(query.order) if query.order else None
    if query.order and value is None:
        return False  # as in Firestore: what lacks the ordered field is not in the index
    if not all(_within(value, bound.comparison, bound.value) for bound in query.bounds):
        return False
    if query.after is None:
        return True
    after = (query.after[0] is not None, 0 if query.after[0] is None else query.after[0], query.after[1])
    here = position(query, document)
    return here > after if query.direction == "asc" else here < after


def _within(value: Scalar, comparison: str, bound: str | int) -> bool:
    if value is None or isinstance(value, bool) or isinstance(value, str) != isinstance(bound, str):
        return False
    order = (value > bound) - (value < bound)  # type: ignore[operator]
    return {"==": order == 0, "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[comparison]
