"""A page of a table: one query, cut where the page ends."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from aex_models.frozen import Frozen
from aex_runtime.http.pagination import PageRequest, page
from aex_runtime.store.port import Direction, Fields, Store
from aex_runtime.store.table import Table

M = TypeVar("M", bound=Frozen)


async def list_page(
    store: Store,
    table: Table[M],
    paging: PageRequest,
    render: Callable[[M], Awaitable[dict[str, Any]]],
    *,
    equal: Fields,
    order: str,
    direction: Direction = "desc",
) -> dict[str, Any]:
    """The records of a query that a declared index serves, as `{items, next_cursor}`.

    One record more than the page holds is read, so that the last page says that it is the last.
    """
    found = await table.find(store, equal, order, direction, after=paging.after, limit=paging.limit + 1)
    shown = found[: paging.limit]
    last = shown[-1].document if len(found) > paging.limit else None
    after = (last.fields[order], last.key) if last else None
    return page([await render(each.record) for each in shown], after, paging)
