import asyncio
from collections.abc import Awaitable, Callable

from aex_runtime.store.port import Collection, Document, Fields, Index, Query, Scalar, Store, Transaction
from aex_runtime.store.transactions import TransactionRetry

WORKS = Collection(
    "test-works",
    (
        Index(),
        Index(order="due"),
        Index(equal=("state",), order="due"),
        Index(equal=("state",), order="due", direction="desc"),
        Index(equal=("state", "owner")),
    ),
)
OTHERS = Collection("test-others", (Index(), Index(order="due")))


Opened = Callable[[TransactionRetry | None], Store]


async def write(store: Store, key: str, body: bytes = b"{}", collection: Collection = WORKS, **fields: Scalar) -> None:
    await write_fields(store, key, fields, body, collection)


async def write_fields(
    store: Store, key: str, fields: Fields, body: bytes = b"{}", collection: Collection = WORKS
) -> None:
    async def fn(transaction: Transaction) -> None:
        transaction.put(collection, key, body, fields)

    await store.transact(fn)


async def read(store: Store, key: str, collection: Collection = WORKS) -> Document:
    document = await store.get(collection, key)
    assert document is not None
    return document


async def keys(store: Store, query: Query) -> list[str]:
    return [document.key for document in await store.query_page(query)]


def steps(*names: str) -> Callable[[Transaction], Awaitable[None]]:
    """Return a transaction of steps such as `put:w1`, which writes its own kind as body."""

    async def fn(transaction: Transaction) -> None:
        for kind, _, key in (name.partition(":") for name in names):
            if kind == "get":
                await transaction.get(WORKS, key)
            elif kind == "raise":
                raise LookupError(key)
            elif kind == "delete":
                transaction.delete(WORKS, key)
            else:
                (transaction.put if kind == "put" else transaction.create)(WORKS, key, kind.encode(), {})

    return fn


def increment(key: str, runs: list[str] | None = None) -> Callable[[Transaction], Awaitable[None]]:
    async def fn(transaction: Transaction) -> None:
        if runs is not None:
            runs.append(key)
        seen = await transaction.get(WORKS, key)
        await asyncio.sleep(0)
        assert seen is not None
        transaction.update(WORKS, seen, str(int(seen.body) + 1).encode(), seen.fields)

    return fn
