"""The limits are those of Firestore."""

import pytest

from aex_runtime.store.firestore_layout import document_bytes, record_bytes
from aex_runtime.store.port import (
    MAX_DOCUMENT_BYTES,
    MAX_TRANSACTION_BYTES,
    MAX_TRANSACTION_WRITES,
    MAX_VALUE_BYTES,
    Collection,
    Fields,
    Index,
    InvalidDocument,
    Query,
    Scalar,
    Store,
    Transaction,
    Write,
)
from tests.store.contract.documents import WORKS, keys, read, steps, write, write_fields

FIELDS: Fields = {"state": "open", "due": 5}


class Limits:
    @pytest.mark.parametrize("key", ["", ".", "..", "a/b", "__x__", "__a\nb__", "k" * 1_501, "a\0b", "\ud800"])
    async def test_key_that_firestore_refuses(self, store: Store, key: str) -> None:
        with pytest.raises(InvalidDocument):
            await write(store, key)

    @pytest.mark.parametrize("name", ["", "a.b", "1a", "a-b", "__x__", "a'b", 'a"b', "é", "a" * 1_487])
    async def test_field_name_that_needs_quoting(self, store: Store, name: str) -> None:
        with pytest.raises(InvalidDocument):
            await write_fields(store, "w1", {name: 1})

    @pytest.mark.parametrize("value", ["x" * 1_501, "é" * 751, 2**63, -(2**63) - 1, "a\0b", "\udfff", 1.5, b"x"])
    async def test_value_that_cannot_be_indexed(self, store: Store, value: Scalar) -> None:
        with pytest.raises(InvalidDocument):
            await write(store, "w1", due=value)

    @pytest.mark.parametrize("value", ["x" * 1_500, 2**63 - 1, -(2**63), "\x1f\x7f\"'\\"])
    async def test_value_at_the_limit(self, store: Store, value: Scalar) -> None:
        await write(store, "k" * 1_500, due=value)
        assert (await read(store, "k" * 1_500)).fields == {"due": value}
        assert await keys(store, Query(WORKS, order="due")) == ["k" * 1_500]

    async def test_collection_that_cannot_be_named(self, store: Store) -> None:
        for name in ("", "a/b", "__x__"):
            with pytest.raises(InvalidDocument):
                await write(store, "w1", collection=Collection(name))

    async def test_collection_with_quotes_in_its_name(self, store: Store) -> None:
        quoted = Collection('it\'s "quoted"', (Index(order="due"),))
        await write(store, "w1", collection=quoted, due=1)
        assert await keys(store, Query(quoted, order="due")) == ["w1"]

    async def test_transaction_writes_at_most_500_documents(self, store: Store) -> None:
        names = [f"put:k{number}" for number in range(MAX_TRANSACTION_WRITES + 1)]
        with pytest.raises(InvalidDocument, match="at most 500"):
            await store.transact(steps(*names))
        assert await store.get(WORKS, "k0") is None
        await store.transact(steps(*names[1:]))
        assert len(await store.query_page(Query(WORKS, limit=1_000))) == MAX_TRANSACTION_WRITES

    async def test_index_entry_above_the_limit(self, store: Store) -> None:
        names = ("a", "b", "c", "d", "e")
        wide = Collection("test-wide", (Index(equal=names, order="f"),))
        large: Fields = dict.fromkeys(names, "x" * 1_500)
        await write_fields(store, "w1", large, collection=wide)
        with pytest.raises(InvalidDocument, match=r"the fields of one index: .* exceed"):
            await write_fields(store, "w1", {**large, "f": "x" * 1_500}, collection=wide)


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
