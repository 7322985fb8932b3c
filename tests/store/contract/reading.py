"""Documents are read as they were written, one or many, in transactions and outside."""

import pytest

from aex_runtime.store.port import Document, Fields, Query, ReadAfterWrite, Store, Transaction
from tests.store.contract.documents import OTHERS, WORKS, read, write, write_fields


def _bodies(found: list[Document | None]) -> list[bytes | None]:
    return [document.body if document else None for document in found]


class Reading:
    async def test_document_is_read_as_written(self, store: Store) -> None:
        fields: Fields = {"state": "open", "due": 5, "flag": True, "off": False, "none": None, "t": "é\u2028💶"}
        await write_fields(store, "w1", fields, b'{"a":1}')
        found = await read(store, "w1")
        assert (found.key, found.body, found.fields) == ("w1", b'{"a":1}', fields)
        assert {name: type(value) for name, value in found.fields.items()} == {
            name: type(value) for name, value in fields.items()
        }

    async def test_document_that_is_not_there_is_none(self, store: Store) -> None:
        assert await store.get(WORKS, "absent") is None
        assert await store.get(WORKS, "\ud800") is None

    async def test_collections_do_not_mix(self, store: Store) -> None:
        await write(store, "w1", b"1")
        assert await store.get(OTHERS, "w1") is None
        assert await store.query_page(Query(OTHERS)) == []

    async def test_many_come_in_the_order_of_their_keys(self, store: Store) -> None:
        for key in ("a", "b", "c"):
            await write(store, key, key.encode())
        found = await store.get_many(WORKS, ["c", "absent", "a", "c"])
        assert [document and document.body for document in found] == [b"c", None, b"a", b"c"]
        assert await store.get_many(WORKS, []) == []

    async def test_hundreds_come_in_the_order_of_their_keys(self, store: Store) -> None:
        async def fn(transaction: Transaction) -> None:
            for number in range(0, 700, 2):
                transaction.put(WORKS, f"k{number}", str(number).encode(), {})

        await store.transact(fn)
        found = await store.get_many(WORKS, [f"k{number}" for number in range(699, -1, -1)])
        expected = [None if number % 2 else str(number).encode() for number in range(699, -1, -1)]
        assert [document and document.body for document in found] == expected

    async def test_transact_returns_the_result_of_its_function(self, store: Store) -> None:
        async def fn(_: Transaction) -> str:
            return "result"

        assert await store.transact(fn) == "result"

    async def test_ping_succeeds(self, store: Store) -> None:
        await store.ping()

    async def test_transaction_reads_many_in_the_order_of_their_keys(self, store: Store) -> None:
        await write(store, "a", b"1")
        await write(store, "c", b"3")

        async def fn(transaction: Transaction) -> list[bytes | None]:
            return _bodies(await transaction.get_many(WORKS, ("c", "b", "a", "c")))

        assert await store.transact(fn) == [b"3", None, b"1", b"3"]

    async def test_no_keys_are_read_also_after_a_write(self, store: Store) -> None:
        async def fn(transaction: Transaction) -> list[Document | None]:
            transaction.put(WORKS, "a", b"1", {})
            assert await transaction.get_many(WORKS, ()) == []
            return await transaction.get_many(WORKS, ("b", "c"))

        with pytest.raises(ReadAfterWrite):
            await store.transact(fn)

    @pytest.mark.parametrize("stored", [True, False])
    async def test_function_reruns_if_one_of_many_has_changed(self, store: Store, stored: bool) -> None:
        await write(store, "a", b"1")
        if stored:
            await write(store, "b", b"1")
        seen: list[list[bytes | None]] = []

        async def fn(transaction: Transaction) -> None:
            seen.append(_bodies(await transaction.get_many(WORKS, ("a", "b"))))
            if len(seen) == 1:
                await write(store, "b", b"2")
            transaction.put(WORKS, "c", b"", {})

        await store.transact(fn)
        assert seen == [[b"1", b"1" if stored else None], [b"1", b"2"]]

    async def test_get_and_get_many_return_the_same(self, store: Store) -> None:
        await write(store, "a", b"1")
        runs: list[tuple[list[bytes | None], list[bytes | None]]] = []

        async def fn(transaction: Transaction) -> None:
            one = await transaction.get(WORKS, "a")
            if not runs:
                await write(store, "a", b"2")
            runs.append((_bodies([one]), _bodies(await transaction.get_many(WORKS, ("a", "b")))))
            transaction.put(WORKS, "c", b"", {})

        await store.transact(fn)
        assert runs == [([b"1"], [b"1", None]), ([b"2"], [b"2", None])]
