"""The Firestore store beside raw calls of Google's client: `python -m tests.benchmarks.firestore`.

Both sides write the same documents to one emulator; `FIRESTORE_EMULATOR_HOST` names a running one.
"""

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from google.auth.credentials import AnonymousCredentials
from google.cloud.firestore_v1 import AsyncClient
from google.cloud.firestore_v1.base_query import FieldFilter

from aex_runtime.store.firestore import FirestoreStore
from aex_runtime.store.port import Collection, Fields, Index, Query, Transaction
from tests.benchmarks.harness import BenchRow, FigureUnit, Side, compare, format_table, print_line
from tests.emulators.emulators import new_project, start_emulators
from tests.emulators.jars import find_jars

WORKS = Collection("bench-works", (Index(("state",), "due"),))
PAGES = Collection("bench-pages", (Index(("state",), "due"),))
"""Small: the emulator scans every document of a collection."""
BODY = b"x" * 1_000
FIELDS: Fields = {"state": "open", "due": 5}
RECORD = {"record": {"body": BODY, "fields": FIELDS}}
OPERATIONS = 128
ROUNDS = 5
Operation = Callable[[str], Awaitable[object]]


class StoreOperations:
    """The operations on our store."""

    def __init__(self, store: FirestoreStore) -> None:
        self._store = store

    async def put(self, key: str) -> None:
        async def write(transaction: Transaction) -> None:
            transaction.put(WORKS, key, BODY, FIELDS)

        await self._store.transact(write)

    async def get(self, key: str) -> None:
        await self._store.get(WORKS, key)

    async def change(self, key: str) -> None:
        async def write(transaction: Transaction) -> None:
            document = await transaction.get(WORKS, key)
            if document is None:
                transaction.create(WORKS, key, BODY, FIELDS)
            else:
                transaction.update(WORKS, document, BODY, FIELDS)

        await self._store.transact(write)

    async def page(self, _: str) -> None:
        await self._store.query_page(Query(PAGES, {"state": "open"}, "due", limit=20))

    async def fill(self) -> None:
        async def write(transaction: Transaction) -> None:
            for number in range(60):
                transaction.put(PAGES, str(number), BODY, FIELDS)

        await self._store.transact(write)


class ClientOperations:
    """The same operations with Google's client, without checks and retries."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._works = client.collection(WORKS.name)

    async def put(self, key: str) -> None:
        await self._works.document(key).set(RECORD)

    async def get(self, key: str) -> None:
        await self._works.document(key).get()

    async def change(self, key: str) -> None:
        document = await self._works.document(key).get()
        if not document.exists:
            await self._works.document(key).create(RECORD)
            return
        batch = self._client.batch()
        option = self._client.write_option(last_update_time=document.update_time)
        batch.update(self._works.document(key), RECORD, option=option)
        await batch.commit()

    async def page(self, _: str) -> None:
        query = self._client.collection(PAGES.name).where(filter=FieldFilter("record.fields.state", "==", "open"))
        await query.order_by("record.fields.due").limit(20).get()


def make_side(operation: Operation, concurrency: int, keys: Callable[[int], str]) -> Side:
    """Return a round of `OPERATIONS`, so many of them concurrently."""

    async def work(numbers: Iterator[int]) -> None:
        for number in numbers:
            await operation(keys(number))

    async def run() -> int:
        numbers = iter(range(OPERATIONS))
        await asyncio.gather(*(work(numbers) for _ in range(concurrency)))
        return OPERATIONS

    return run


async def measure_store(host: str) -> list[BenchRow]:
    """Return a row per operation and concurrency."""
    os.environ["FIRESTORE_EMULATOR_HOST"] = host  # the only setting that Google's client reads
    project = new_project()
    store = FirestoreStore(project, emulator=host)
    client = AsyncClient(project=project, credentials=AnonymousCredentials())  # type: ignore[no-untyped-call]
    own, baseline, fresh = StoreOperations(store), ClientOperations(client), count()
    await own.fill()
    cases: tuple[tuple[str, Operation, Operation, Callable[[int], str]], ...] = (
        ("put", own.put, baseline.put, lambda _: f"p{next(fresh)}"),
        ("get", own.get, baseline.get, lambda number: f"p{number}"),
        ("get and change", own.change, baseline.change, lambda number: f"p{number}"),
        ("page of 20", own.page, baseline.page, str),
    )
    rows = []
    for name, our_operation, their_operation, keys in cases:
        for concurrency in (1, 16):
            our_side, their_side = (make_side(each, concurrency, keys) for each in (our_operation, their_operation))
            rates = await compare(our_side, their_side, ROUNDS)
            rows.append(
                BenchRow(f"{name}, {concurrency} at once", "google-cloud-firestore", *rates, None, FigureUnit.RATE)
            )
    await store.close()
    client.close()  # type: ignore[no-untyped-call]
    return rows


@contextmanager
def _emulator() -> Iterator[str]:
    if running := os.environ.get("FIRESTORE_EMULATOR_HOST"):
        yield running
        return
    with tempfile.TemporaryDirectory() as logs, start_emulators(find_jars(os.environ), Path(logs)) as emulators:
        yield emulators.firestore.host


if __name__ == "__main__":
    with _emulator() as host:
        print_line(format_table(asyncio.run(measure_store(host))))
