"""The documents that the contract writes and how it looks at them."""

import asyncio
from collections.abc import Awaitable, Callable

from aex_runtime.store.port import Collection, Document, Fields, Index, Query, Scalar, Store, Transaction
from aex_runtime.store.rerun import Rerun

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


Opened = Callable[[Rerun | None], Store]


async def write(store: Store, key: str, body: bytes = b"{}", collection: Collection = WORKS, **fields: Scalar) -> None:
    """Put one document."""
    await write_fields(store, key, fields, body, collection)


async def write_fields(
    store: Store, key: str, fields: Fields, body: bytes = b"{}", collection: Collection = WORKS
) -> None:
    """Put one document whose fields may have any name."""

    async def fn(transaction: Transaction) -> None:
        transaction.put(collection, key, body, fields)

    await store.transact(fn)


async def read(store: Store, key: str, collection: Collection = WORKS) -> Document:
    """A document that must be there."""
    document = await store.get(collection, key)
    assert document is not None
    return document


async def keys(store: Store, query: Query) -> list[str]:
    """The keys that a query finds, in its order."""
    return [document.key for document in await store.query(query)]


def increment(key: str, runs: list[str] | None = None) -> Callable[[Transaction], Awaitable[None]]:
    """A transaction that adds one to the number in a document."""

    async def fn(transaction: Transaction) -> None:
        if runs is not None:
            runs.append(key)
        seen = await transaction.get(WORKS, key)
        await asyncio.sleep(0)
        assert seen is not None
        transaction.update(WORKS, seen, str(int(seen.body) + 1).encode(), seen.fields)

    return fn
