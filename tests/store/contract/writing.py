"""Transactions write all or nothing, on what they read, also when they meet."""

import asyncio

import pytest

from aex_runtime.store.port import (
    AlreadyExists,
    Contention,
    Document,
    InvalidDocument,
    ReadAfterWrite,
    Store,
    Transaction,
)
from tests.store.contract.documents import WORKS, increment, read, steps, write


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

    async def test_fifty_concurrent_increments_add_fifty(self, patient_store: Store) -> None:
        await write(patient_store, "w1", b"0", state="open", due=1)
        runs: list[str] = []
        await asyncio.gather(*(patient_store.transact(increment("w1", runs)) for _ in range(50)))
        assert (await read(patient_store, "w1")).body == b"50"
        assert len(runs) > 50  # they did meet

    async def test_one_of_many_creators_wins(self, store: Store) -> None:
        async def fn(transaction: Transaction) -> None:
            await asyncio.sleep(0)
            transaction.create(WORKS, "w1", b"1", {})

        results = await asyncio.gather(*(store.transact(fn) for _ in range(20)), return_exceptions=True)
        assert results.count(None) == 1
        assert sum(isinstance(result, AlreadyExists) for result in results) == 19

    async def test_losers_leave_their_neighbours_alone(self, store: Store) -> None:
        await write(store, "taken", b"1")

        async def create(key: str) -> None:
            async def fn(transaction: Transaction) -> None:
                transaction.put(WORKS, f"with-{key}", b"1", {})
                transaction.create(WORKS, key, b"1", {})

            await store.transact(fn)

        names = [f"k{number}" if number % 2 else "taken" for number in range(40)]
        results = await asyncio.gather(*map(create, names), return_exceptions=True)
        assert [result is None for result in results] == [name != "taken" for name in names]
        assert await store.get(WORKS, "with-taken") is None
        found = await store.get_many(WORKS, [f"with-k{number}" for number in range(1, 40, 2)])
        assert all(found)
