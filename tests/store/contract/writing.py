import pytest

from aex_runtime.store.port import AlreadyExists, InvalidDocument, ReadAfterWrite, Store, Transaction
from tests.store.contract.documents import WORKS, read, steps, write


class Writing:
    @pytest.mark.parametrize(
        ("stored", "kinds"),
        [
            (True, ["create"]),
            (False, ["create", "create"]),
            (False, ["put", "create"]),
            (True, ["get", "create"]),
            (True, ["create", "delete"]),
            (True, ["delete", "put", "create"]),
        ],
    )
    async def test_create_refuses_an_existing_document(self, store: Store, stored: bool, kinds: list[str]) -> None:
        if stored:
            await write(store, "w1", b"1")
        with pytest.raises(AlreadyExists, match="test-works/w1"):
            await store.transact(steps("get:other", *(f"{kind}:w1" for kind in kinds), "put:beside"))
        found = await store.get_many(WORKS, ["w1", "beside"])
        assert [document and document.body for document in found] == [b"1" if stored else None, None]

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
        await store.transact(steps("delete:w1", "create:w1"))
        assert (await read(store, "w1")).body == b"create"

    async def test_deleting_an_absent_document_is_no_error(self, store: Store) -> None:
        await store.transact(steps("delete:absent"))
        assert await store.get(WORKS, "absent") is None

    @pytest.mark.parametrize(
        ("error", "kinds"),
        [(ReadAfterWrite, ["get:w2"]), (InvalidDocument, ["put:a/b"]), (LookupError, ["raise:w2"])],
    )
    async def test_failed_transaction_writes_nothing(
        self, store: Store, error: type[Exception], kinds: list[str]
    ) -> None:
        with pytest.raises(error):
            await store.transact(steps("put:w1", *kinds))
        assert await store.get(WORKS, "w1") is None
