"""Reading a query a page at a time."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel

from aex_runtime.store.port import Bound, Direction, Fields, Scalar, Store
from aex_runtime.store.table import Stored, Table

M = TypeVar("M", bound=BaseModel)
BATCH = 200
"""How many records are read at once: few enough that decoding them does not hold the event loop for long."""


@dataclass(frozen=True, slots=True)
class Slice(Generic[M]):
    """Some records of a query in its order; `after` is the position of the last where more follow."""

    records: tuple[M, ...]
    after: tuple[Scalar, str] | None


def slice_of(found: Sequence[Stored[M]], order: str, limit: int) -> Slice[M]:
    """The first `limit` of `limit + 1` that were asked for."""
    shown = found[:limit]
    return Slice(tuple(stored.record for stored in shown), position(shown[-1], order) if len(found) > limit else None)


def position(stored: Stored[M], order: str | None) -> tuple[Scalar, str]:
    """Where a record stands in its query; without an order, by its key."""
    return None if order is None else stored.document.fields[order], stored.document.key


async def each_page(
    store: Store,
    table: Table[M],
    equal: Fields,
    order: str | None = None,
    direction: Direction = "asc",
    bounds: Sequence[Bound] = (),
    size: int = BATCH,
) -> AsyncGenerator[Sequence[Stored[M]], None]:
    """All that match, a page of at most `size` in memory at a time."""
    after: tuple[Scalar, str] | None = None
    while True:
        found = await table.find(store, equal, order, direction, bounds, after, size)
        if found:
            yield found
        if len(found) < size:
            return
        after = position(found[-1], order)
