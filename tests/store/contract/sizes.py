"""What is too large for Firestore is refused everywhere."""

import pytest

from aex_runtime.store.buffer import Write
from aex_runtime.store.firestore_layout import document_bytes, record_bytes
from aex_runtime.store.port import (
    MAX_DOCUMENT_BYTES,
    MAX_TRANSACTION_BYTES,
    MAX_VALUE_BYTES,
    Fields,
    InvalidDocument,
    Store,
    Transaction,
)
from tests.store.contract.documents import WORKS, read, write

FIELDS: Fields = {"state": "open", "due": 5}


class Sizes:
    """For stores that keep bodies themselves."""

    @pytest.mark.parametrize("key", ["w1", "k" * 1_500])
    async def test_document_may_be_as_large_as_firestore_allows_and_no_larger(self, store: Store, key: str) -> None:
        empty = Write("put", WORKS, key, b"", FIELDS)
        room = min(MAX_DOCUMENT_BYTES - document_bytes(empty), MAX_VALUE_BYTES - record_bytes(empty))
        with pytest.raises(InvalidDocument, match="exceed"):
            await write(store, key, b"x" * (room + 1), state="open", due=5)
        await write(store, key, b"x" * room, state="open", due=5)
        assert len((await read(store, key)).body) == room

    async def test_transaction_larger_than_firestore_allows_is_refused(self, store: Store) -> None:
        async def fn(transaction: Transaction) -> None:
            for number in range(11):
                transaction.put(WORKS, f"k{number}", b"x" * (MAX_TRANSACTION_BYTES // 11), {})

        with pytest.raises(InvalidDocument, match=r"a transaction: .* exceed"):
            await store.transact(fn)
        assert await store.get(WORKS, "k0") is None

    async def test_transaction_may_be_large(self, store: Store) -> None:
        """Firestore's emulator takes no more than 4 MiB at a time; Firestore takes 10."""

        async def fn(transaction: Transaction) -> None:
            for number in range(4):
                transaction.put(WORKS, f"k{number}", b"x" * 1_000_000, {})

        await store.transact(fn)
        found = await store.get_many(WORKS, [f"k{number}" for number in range(4)])
        assert [len(document.body) for document in found if document] == [1_000_000] * 4
