import pytest

from aex_runtime.store.firestore_layout import document_bytes, record_bytes
from aex_runtime.store.port import (
    MAX_DOCUMENT_BYTES,
    MAX_TRANSACTION_BYTES,
    MAX_VALUE_BYTES,
    Fields,
    InvalidDocument,
    Store,
    Transaction,
    Write,
)
from tests.store.contract.documents import WORKS, read, write

FIELDS: Fields = {"state": "open", "due": 5}


class Sizes:
    @pytest.mark.parametrize("key", ["w1", "k" * 1_500])
    async def test_document_may_be_as_large_as_firestore_allows_and_no_larger(self, store: Store, key: str) -> None:
        empty = Write("put", WORKS, key, b"", FIELDS)
        space = min(MAX_DOCUMENT_BYTES - document_bytes(empty), MAX_VALUE_BYTES - record_bytes(empty))
        with pytest.raises(InvalidDocument, match="exceed"):
            await write(store, key, b"x" * (space + 1), state="open", due=5)
        await write(store, key, b"x" * space, state="open", due=5)
        assert len((await read(store, key)).body) == space

    async def test_transaction_is_as_large_as_firestore_allows(self, store: Store) -> None:
        async def fn(transaction: Transaction, count: int) -> None:
            for number in range(count):
                transaction.put(WORKS, f"k{number}", b"x" * (MAX_TRANSACTION_BYTES // 11), {})

        with pytest.raises(InvalidDocument, match=r"a transaction: .* exceed"):
            await store.transact(lambda transaction: fn(transaction, 11))
        assert await store.get(WORKS, "k0") is None
        await store.transact(lambda transaction: fn(transaction, 4))
        found = await store.get_many(WORKS, [f"k{number}" for number in range(4)])
        assert [len(document.body) for document in found if document] == [MAX_TRANSACTION_BYTES // 11] * 4
