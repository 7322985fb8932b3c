"""What one transaction writes: everything or nothing."""

import pytest

from aex_runtime.store.port import AlreadyExists, InvalidDocument, ReadAfterWrite, Store, Transaction
from tests.store.contract.documents import WORKS, read, write


class Writing:
    async def test_create_refuses_what_is_there(self, store: Store) -> None:
        await write(store, "w1", b"1")

        async def fn(transaction: Transaction) -> None:
            transaction.create(WORKS, "w1", b"2", {})

        with pytest.raises(AlreadyExists, match="test-works/w1"):
            await store.transact(fn)
        assert (await read(store, "w1")).body == b"1"

    async def test_create_refuses_what_the_same_transaction_created(self, store: Store) -> None:
        async def fn(transaction: Transaction) -> None:
            transaction.create(WORKS, "w1", b"1", {})
            transaction.create(WORKS, "w1", b"2", {})

        with pytest.raises(AlreadyExists):
            await store.transact(fn)
        assert await store.get(WORKS, "w1") is None

    async def test_create_refuses_what_the_same_transaction_put(self, store: Store) -> None:
        async def fn(transaction: Transaction) -> None:
            transaction.put(WORKS, "w1", b"1", {})
            transaction.create(WORKS, "w1", b"2", {})

        with pytest.raises(AlreadyExists):
            await store.transact(fn)
        assert await store.get(WORKS, "w1") is None

    async def test_create_refuses_what_the_same_transaction_read(self, store: Store) -> None:
        await write(store, "w1", b"1")

        async def fn(transaction: Transaction) -> None:
            await transaction.get(WORKS, "w1")
            transaction.create(WORKS, "w1", b"2", {})

        with pytest.raises(AlreadyExists, match="test-works/w1"):
            await store.transact(fn)
        assert (await read(store, "w1")).body == b"1"

    async def test_create_refuses_what_is_there_though_it_is_deleted_again(self, store: Store) -> None:
        await write(store, "w1", b"1")

        async def fn(transaction: Transaction) -> None:
            transaction.create(WORKS, "w1", b"2", {})
            transaction.delete(WORKS, "w1")

        with pytest.raises(AlreadyExists, match="test-works/w1"):
            await store.transact(fn)
        assert (await read(store, "w1")).body == b"1"

    async def test_last_write_of_a_document_wins(self, store: Store) -> None:
        await write(store, "w1", b"1")

        async def fn(transaction: Transaction) -> None:
            seen = await transaction.get(WORKS, "w1")
            assert seen is not None
            transaction.update(WORKS, seen, b"2", {"due": 2})
            transaction.put(WORKS, "w1", b"3", {"due": 3})
            transaction.create(WORKS, "w2", b"4", {})
            transaction.put(WORKS, "w2", b"5", {})
            transaction.put(WORKS, "w3", b"6", {})
            transaction.delete(WORKS, "w3")

        await store.transact(fn)
        first = await read(store, "w1")
        assert (first.body, first.fields) == (b"3", {"due": 3})
        assert (await read(store, "w2")).body == b"5"
        assert await store.get(WORKS, "w3") is None

    async def test_create_after_delete_in_one_transaction_replaces(self, store: Store) -> None:
        await write(store, "w1", b"1")

        async def fn(transaction: Transaction) -> None:
            transaction.delete(WORKS, "w1")
            transaction.create(WORKS, "w1", b"2", {})

        await store.transact(fn)
        assert (await read(store, "w1")).body == b"2"

    async def test_deleting_what_is_not_there_is_no_error(self, store: Store) -> None:
        async def fn(transaction: Transaction) -> None:
            transaction.delete(WORKS, "nobody")

        await store.transact(fn)
        assert await store.get(WORKS, "nobody") is None

    async def test_read_after_write_is_refused(self, store: Store) -> None:
        async def fn(transaction: Transaction) -> None:
            transaction.put(WORKS, "w1", b"1", {})
            await transaction.get(WORKS, "w2")

        with pytest.raises(ReadAfterWrite):
            await store.transact(fn)
        assert await store.get(WORKS, "w1") is None

    async def test_all_or_nothing_where_a_later_create_fails(self, store: Store) -> None:
        await write(store, "taken", b"1")

        async def fn(transaction: Transaction) -> None:
            transaction.put(WORKS, "fresh", b"1", {})
            transaction.delete(WORKS, "taken")
            transaction.put(WORKS, "taken", b"2", {})
            transaction.create(WORKS, "taken", b"3", {})

        with pytest.raises(AlreadyExists):
            await store.transact(fn)
        assert await store.get(WORKS, "fresh") is None
        assert (await read(store, "taken")).body == b"1"

    async def test_all_or_nothing_where_a_later_document_is_invalid(self, store: Store) -> None:
        async def fn(transaction: Transaction) -> None:
            transaction.put(WORKS, "fresh", b"1", {})
            transaction.put(WORKS, "a/b", b"1", {})

        with pytest.raises(InvalidDocument):
            await store.transact(fn)
        assert await store.get(WORKS, "fresh") is None

    async def test_nothing_is_written_where_the_function_raises(self, store: Store) -> None:
        async def fn(transaction: Transaction) -> None:
            transaction.put(WORKS, "w1", b"1", {})
            raise LookupError("no")

        with pytest.raises(LookupError):
            await store.transact(fn)
        assert await store.get(WORKS, "w1") is None
