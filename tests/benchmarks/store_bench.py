"""What the Firestore store costs beside Google's client: `python -m tests.benchmarks.store_bench`.

On the emulator, both in one process, the same documents. `AEX_FIRESTORE_EMULATOR_JAR` as for the tests;
FIRESTORE_EMULATOR_HOST takes one that runs already.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from google.auth.credentials import AnonymousCredentials
from google.cloud.firestore_v1 import AsyncClient, AsyncDocumentReference
from google.cloud.firestore_v1.base_query import FieldFilter

from aex_runtime.store.firestore import FirestoreStore
from aex_runtime.store.port import Collection, Fields, Index, Query, Transaction
from tests.benchmarks.sides import Comparison, Side, compare, table
from tests.emulators.emulators import new_project, started
from tests.emulators.jars import find_jars

WORKS = Collection("bench-works", (Index(("state",), "due"),))
PAGES = Collection("bench-pages", (Index(("state",), "due"),))
"""Small: the emulator looks at every document of a collection."""
BODY = b"x" * 1_000
FIELDS: Fields = {"state": "open", "due": 5}
RECORD = {"record": {"body": BODY, "fields": FIELDS}}
OPERATIONS = 128
ROUNDS = 5
One = Callable[[str], Awaitable[object]]


class Ours:
    """The operations on our store."""

    def __init__(self, store: FirestoreStore) -> None:
        self._store = store

    async def put(self, key: str) -> None:
        async def fn(transaction: Transaction) -> None:
            transaction.put(WORKS, key, BODY, FIELDS)

        await self._store.transact(fn)

    async def get(self, key: str) -> None:
        await self._store.get(WORKS, key)

    async def change(self, key: str) -> None:
        async def fn(transaction: Transaction) -> None:
            seen = await transaction.get(WORKS, key)
            if seen is None:
                transaction.create(WORKS, key, BODY, FIELDS)
            else:
                transaction.update(WORKS, seen, BODY, FIELDS)

        await self._store.transact(fn)

    async def page(self, _: str) -> None:
        await self._store.query(Query(PAGES, {"state": "open"}, "due", limit=20))

    async def fill(self) -> None:
        async def fn(transaction: Transaction) -> None:
            for number in range(60):
                transaction.put(PAGES, str(number), BODY, FIELDS)

        await self._store.transact(fn)


class Raw:
    """The same with Google's client: no checks, no reruns, conditions where a document was read."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._works = client.collection(WORKS.name)

    async def put(self, key: str) -> None:
        await self._document(key).set(RECORD)

    async def get(self, key: str) -> None:
        await self._document(key).get()

    async def change(self, key: str) -> None:
        seen = await self._document(key).get()
        if not seen.exists:
            await self._document(key).create(RECORD)
            return
        batch = self._client.batch()
        option = self._client.write_option(last_update_time=seen.update_time)
        batch.update(self._document(key), RECORD, option=option)
        await batch.commit()

    async def page(self, _: str) -> None:
        query = self._client.collection(PAGES.name).where(filter=FieldFilter("record.fields.state", "==", "open"))
        await query.order_by("record.fields.due").limit(20).get()

    def _document(self, key: str) -> AsyncDocumentReference:
        return self._works.document(key)


def side(one: One, concurrent: int, keys: Callable[[int], str]) -> Side:
    """A round of an operation, shared by so many that run beside each other."""

    async def work(numbers: Iterator[int]) -> None:
        for number in numbers:
            await one(keys(number))

    async def all_of_them() -> int:
        numbers = iter(range(OPERATIONS))
        await asyncio.gather(*(work(numbers) for _ in range(concurrent)))
        return OPERATIONS

    return all_of_them


async def measure(host: str) -> list[Comparison]:
    """All comparisons, on one emulator."""
    os.environ["FIRESTORE_EMULATOR_HOST"] = host  # where Google's client looks for it
    project = new_project()
    store = FirestoreStore(project, emulator=host)
    client = AsyncClient(project=project, credentials=AnonymousCredentials())  # type: ignore[no-untyped-call]
    ours, raw, fresh = Ours(store), Raw(client), count()
    await ours.fill()
    pairs: tuple[tuple[str, One, One, Callable[[int], str]], ...] = (
        ("put", ours.put, raw.put, lambda _: f"p{next(fresh)}"),
        ("get", ours.get, raw.get, lambda number: f"p{number}"),
        ("get and change", ours.change, raw.change, lambda number: f"p{number}"),
        ("page of 20", ours.page, raw.page, str),
    )
    found = [
        await compare(f"{name}, {concurrent} at once", side(a, concurrent, keys), side(b, concurrent, keys), ROUNDS)
        for name, a, b, keys in pairs
        for concurrent in (1, 16)
    ]
    await store.close()
    client.close()  # type: ignore[no-untyped-call]
    return found


@contextmanager
def _emulator() -> Iterator[str]:
    running = os.environ.get("FIRESTORE_EMULATOR_HOST")
    if running:
        yield running
        return
    with tempfile.TemporaryDirectory() as logs, started(find_jars(os.environ), Path(logs)) as emulators:
        yield emulators.firestore.host


def main() -> None:
    """Measure and print."""
    with _emulator() as host:
        sys.stdout.write(table(asyncio.run(measure(host)), "operations a second") + "\n")


if __name__ == "__main__":
    main()
