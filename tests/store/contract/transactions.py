"""What a transaction read is still so when it commits."""

import pytest

from aex_runtime.store.port import Contention, Store, Transaction
from tests.store.contract.documents import WORKS, read, write


class Transactions:
    async def test_function_runs_again_where_what_it_read_has_changed(self, store: Store) -> None:
        await write(store, "w1", b"1")
        seen: list[bytes] = []

        async def fn(transaction: Transaction) -> None:
            document = await transaction.get(WORKS, "w1")
            assert document is not None
            seen.append(document.body)
            if len(seen) == 1:
                await write(store, "w1", b"10")
            transaction.put(WORKS, "w2", document.body, {})

        await store.transact(fn)
        assert seen == [b"1", b"10"]
        assert (await read(store, "w2")).body == b"10"

    async def test_function_runs_again_where_what_was_not_there_now_is(self, store: Store) -> None:
        seen: list[bool] = []

        async def fn(transaction: Transaction) -> None:
            document = await transaction.get(WORKS, "w1")
            seen.append(document is not None)
            if len(seen) == 1:
                await write(store, "w1", b"other")
            if document is None:
                transaction.create(WORKS, "w1", b"mine", {})

        await store.transact(fn)
        assert seen == [False, True]
        assert (await read(store, "w1")).body == b"other"

    async def test_function_runs_again_where_what_it_only_read_has_changed(self, store: Store) -> None:
        """As for a lease that guards: the document is read and not written, there or not."""
        await write(store, "there", b"1")
        for key in ("there", "missing"):
            seen: list[bytes | None] = []

            async def fn(transaction: Transaction, key: str = key, seen: list[bytes | None] = seen) -> None:
                document = await transaction.get(WORKS, key)
                seen.append(document.body if document else None)
                if len(seen) == 1:
                    await write(store, key, b"changed")
                transaction.put(WORKS, f"beside-{key}", b"1", {})

            await store.transact(fn)
            assert seen[1:] == [b"changed"]
            assert (await read(store, key)).body == b"changed"

    async def test_what_was_only_read_keeps_its_version(self, store: Store) -> None:
        await write(store, "w1", b"1")
        before = await read(store, "w1")

        async def fn(transaction: Transaction) -> None:
            await transaction.get(WORKS, "w1")
            await transaction.get(WORKS, "nobody")
            transaction.put(WORKS, "w2", b"1", {})

        await store.transact(fn)
        assert await read(store, "w1") == before
        assert await store.get(WORKS, "nobody") is None

    async def test_update_of_an_older_version_loses(self, store: Store) -> None:
        await write(store, "w1", b"1")
        stale = await read(store, "w1")
        await write(store, "w1", b"2")

        async def fn(transaction: Transaction) -> None:
            transaction.update(WORKS, stale, b"3", {})

        with pytest.raises(Contention):
            await store.transact(fn)
        assert (await read(store, "w1")).body == b"2"

    async def test_update_of_an_older_version_loses_though_the_transaction_read_the_newer(self, store: Store) -> None:
        await write(store, "w1", b"1")
        stale = await read(store, "w1")
        await write(store, "w1", b"2")

        async def fn(transaction: Transaction) -> None:
            await transaction.get(WORKS, "w1")
            transaction.update(WORKS, stale, b"3", {})

        with pytest.raises(Contention):
            await store.transact(fn)
        assert (await read(store, "w1")).body == b"2"

    async def test_document_made_anew_is_not_the_one_that_was_seen(self, store: Store) -> None:
        await write(store, "w1", b"1")
        stale = await read(store, "w1")

        async def recreate(transaction: Transaction) -> None:
            transaction.delete(WORKS, "w1")

        await store.transact(recreate)
        await write(store, "w1", b"1")

        async def fn(transaction: Transaction) -> None:
            transaction.update(WORKS, stale, b"2", {})

        with pytest.raises(Contention):
            await store.transact(fn)

    async def test_version_grows_with_each_write(self, store: Store) -> None:
        versions = []
        for body in (b"1", b"2", b"2"):
            await write(store, "w1", body)
            versions.append((await read(store, "w1")).version)
        assert versions == sorted(set(versions))
        assert versions[0] > 0

    async def test_reading_transaction_sees_one_moment(self, store: Store) -> None:
        for key in ("a", "b"):
            await write(store, key, b"1")
        runs: list[tuple[bytes, bytes]] = []

        async def fn(transaction: Transaction) -> None:
            first = await transaction.get(WORKS, "a")
            if not runs:
                await write(store, "a", b"2")
                await write(store, "b", b"2")
            second = await transaction.get(WORKS, "b")
            assert first is not None
            assert second is not None
            runs.append((first.body, second.body))

        await store.transact(fn)
        assert runs[-1] == (b"2", b"2")

    async def test_error_over_reads_that_do_not_belong_together_is_no_answer(self, store: Store) -> None:
        for key in ("a", "b"):
            await write(store, key, b"1")
        runs: list[int] = []

        async def fn(transaction: Transaction) -> None:
            runs.append(1)
            first = await transaction.get(WORKS, "a")
            if len(runs) == 1:
                await write(store, "a", b"2")
                await write(store, "b", b"2")
            second = await transaction.get(WORKS, "b")
            if (first and first.body) != (second and second.body):
                raise AssertionError("a and b are always equal")

        await store.transact(fn)
        assert len(runs) == 2

    async def test_document_read_twice_is_the_same_twice(self, store: Store) -> None:
        await write(store, "w1", b"1")

        async def fn(transaction: Transaction) -> bool:
            first = await transaction.get(WORKS, "w1")
            return await transaction.get(WORKS, "w1") == first

        assert await store.transact(fn)

    async def test_key_that_nobody_can_write_may_be_looked_for(self, store: Store) -> None:
        async def fn(transaction: Transaction) -> None:
            assert await transaction.get(WORKS, "\ud800") is None
            transaction.put(WORKS, "w1", b"1", {})

        await store.transact(fn)
        assert (await read(store, "w1")).body == b"1"
