import asyncio

from aex_runtime.store.port import AlreadyExists, Store, Transaction
from tests.store.contract.documents import WORKS, increment, read, write


class Contending:
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
