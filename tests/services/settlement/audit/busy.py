"""A store on which others are at work: something happens after each of its reads."""

from collections.abc import Awaitable, Callable, Sequence

from aex_runtime.store.port import Collection, Document, Query, Store
from tests.parts.passing import PassingStore

Happening = Callable[[], Awaitable[None]]


class BusyStore(PassingStore):
    """The store, with `happens` after every read of pages or of several documents, at most `times` times.

    With `only`, after reads of that collection alone, and not after the first `spared` of them.
    """

    def __init__(
        self, store: Store, happens: Happening, times: int, only: Collection | None = None, spared: int = 0
    ) -> None:
        super().__init__(store)
        self._happens = happens
        self._only = only
        self._spared = spared
        self.left = times
        self._under_way = False

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        found = await super().get_many(collection, keys)
        await self._something(collection)
        return found

    async def query(self, query: Query) -> list[Document]:
        found = await super().query(query)
        await self._something(query.collection)
        return found

    async def _something(self, collection: Collection) -> None:
        if self._under_way or self._only not in {None, collection}:
            return
        self._spared -= 1
        if self.left > 0 and self._spared < 0:
            self.left -= 1
            self._under_way = True
            try:
                await self._happens()
            finally:
                self._under_way = False
