"""Verification reads outside of its transactions and writes whatever stands there now: only a race shows it."""

import random
from collections.abc import Awaitable, Callable

from aex_runtime.store.port import Collection, Document, Fields, Store, T, Transaction
from tests.parts.passing import PassingStore
from tests.simulation.planted.plant import Plant


class _Blind:
    """Reads and writes that know nothing of each other."""

    def __init__(self, store: Store, transaction: Transaction) -> None:
        self.get, self.get_many = store.get, store.get_many
        self.put, self.delete = transaction.put, transaction.delete

    def create(self, collection: Collection, key: str, body: bytes, fields: Fields) -> None:
        self.put(collection, key, body, fields)

    def update(self, collection: Collection, seen: Document, body: bytes, fields: Fields) -> None:
        self.put(collection, seen.key, body, fields)


class _BlindStore(PassingStore):
    async def transact(self, fn: Callable[[Transaction], Awaitable[T]]) -> T:
        async def blind(transaction: Transaction) -> T:
            return await fn(_Blind(self._store, transaction))

        return await super().transact(blind)


def _blind(name: str, store: Store, _: random.Random) -> Store:
    return _BlindStore(store) if name == "verification" else store


WRITES_BLINDLY = Plant("writes_blindly", "of two transactions at once the later one undoes the other", store=_blind)
