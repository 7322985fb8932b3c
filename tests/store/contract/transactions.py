import pytest

from aex_runtime.store.port import Contention, Document, Store, Transaction
from tests.store.contract.documents import WORKS, read, steps, write


class Transactions:
    @pytest.mark.parametrize("stored", [True, False])
    async def test_function_reruns_if_a_read_document_has_changed(self, store: Store, stored: bool) -> None:
        if stored:
            await write(store, "w1", b"1")
        seen: list[bytes | None] = []

        async def fn(transaction: Transaction) -> None:
            document = await transaction.get(WORKS, "w1")
            seen.append(document.body if document else None)
            if len(seen) == 1:
                await write(store, "w1", b"10")
            if document is None:
                transaction.create(WORKS, "w1", b"own", {})
            transaction.put(WORKS, "w2", b"beside", {})

        await store.transact(fn)
        assert seen == [b"1" if stored else None, b"10"]
        assert (await read(store, "w1")).body == b"10"

    async def test_document_that_is_only_read_keeps_its_version(self, store: Store) -> None:
        await write(store, "w1", b"1")
        before = await read(store, "w1")
        await store.transact(steps("get:w1", "get:absent", "put:w2"))
        assert await read(store, "w1") == before
        assert await store.get(WORKS, "absent") is None

    @pytest.mark.parametrize("kinds", [["put:w1"], ["put:w1", "get:w1"], ["delete:w1", "put:w1"]])
    async def test_update_of_an_older_version_conflicts(self, store: Store, kinds: list[str]) -> None:
        await write(store, "w1", b"1")
        stale = await read(store, "w1")
        for kind in kinds:
            await store.transact(steps(kind))

        async def fn(transaction: Transaction) -> None:
            if "get:w1" in kinds:
                await transaction.get(WORKS, "w1")
            transaction.update(WORKS, stale, b"3", {})

        with pytest.raises(Contention):
            await store.transact(fn)
        assert (await read(store, "w1")).body == b"put"

    async def test_version_grows_with_each_write(self, store: Store) -> None:
        versions = []
        for body in (b"1", b"2", b"2"):
            await write(store, "w1", body)
            versions.append((await read(store, "w1")).version)
        assert versions == sorted(set(versions))
        assert versions[0] > 0

    @pytest.mark.parametrize("raises", [True, False])
    async def test_result_and_error_are_of_reads_of_one_moment(self, store: Store, raises: bool) -> None:
        for key in ("a", "b"):
            await write(store, key, b"1")
        runs: list[tuple[Document | None, Document | None]] = []

        async def fn(transaction: Transaction) -> None:
            first = await transaction.get(WORKS, "a")
            if not runs:
                await write(store, "a", b"2")
                await write(store, "b", b"2")
            runs.append((first, await transaction.get(WORKS, "b")))
            first, second = runs[-1]
            if raises and (first and first.body) != (second and second.body):
                raise AssertionError("a and b are always equal")

        await store.transact(fn)
        assert [document and document.body for document in runs[-1]] == [b"2", b"2"]
        assert len(runs) == 2

    async def test_document_read_twice_is_the_same(self, store: Store) -> None:
        await write(store, "w1", b"1")

        async def fn(transaction: Transaction) -> bool:
            first = await transaction.get(WORKS, "w1")
            return await transaction.get(WORKS, "w1") == first

        assert await store.transact(fn)

    async def test_key_that_cannot_be_stored_may_be_read(self, store: Store) -> None:
        await store.transact(steps("get:\ud800", "put:w1"))
        assert (await read(store, "w1")).body == b"put"
