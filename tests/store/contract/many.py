import pytest

from aex_runtime.store.port import Document, ReadAfterWrite, Store, Transaction
from tests.store.contract.documents import WORKS, write


def _bodies(found: list[Document | None]) -> list[bytes | None]:
    return [document.body if document else None for document in found]


class Many:
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
