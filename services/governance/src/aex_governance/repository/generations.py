"""Finding what is left of generations that are not read any more."""

from collections.abc import AsyncGenerator, Collection
from typing import Any

from aex_governance.repository.projections import generation_prefix
from aex_runtime.store.port import Query, Scalar, Store
from aex_runtime.store.table import Table

_AT_ONCE = 400
"""As many as one transaction may well delete: the store takes 500 writes."""


async def left_over(store: Store, table: Table[Any], kept: Collection[int]) -> AsyncGenerator[list[str], None]:
    """The keys of all documents but those of the kept generations, which are leapt over; a page at a time."""
    prefixes = tuple(map(generation_prefix, kept))
    after: tuple[Scalar, str] | None = None
    while True:
        keys = [each.key for each in await store.query(Query(table.collection, after=after, limit=_AT_ONCE))]
        if unread := [key for key in keys if not key.startswith(prefixes)]:
            yield unread
        if len(keys) < _AT_ONCE:
            return
        after = None, _end_of_generation(keys[-1]) if keys[-1].startswith(prefixes) else keys[-1]


def _end_of_generation(key: str) -> str:
    """Beyond all keys that begin with the same number: `.` comes after `-`, and before any digit."""
    return key.partition("-")[0] + "."
