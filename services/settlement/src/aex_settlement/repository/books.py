"""Reading the projections as of a batch: groups' months, accounts' balances, the pages of an account's book."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing

from aex_runtime.store.port import Bound, Store
from aex_runtime.store.table import Stored
from aex_settlement.repository.pages import each_page
from aex_settlement.repository.projections import BALANCES, ROLLUPS, SHEETS
from aex_settlement.rules.periods import DaySpan
from aex_settlement.rules.projected import Balance, Rollup, Sheet

_MONTH = len("2025-01")
_SHEETS = 32
"""Sheets of a busy account are long: a page of its book is seldom more than these."""


async def each_rollup(
    store: Store, generation: str, view: str, own: Mapping[str, str], days: DaySpan
) -> AsyncGenerator[Rollup, None]:
    """The months of a view's groups, all or those of one agent or consumer (`own`), that share days with `days`."""
    first = () if days.first is None else (Bound(">=", days.first[:_MONTH]),)
    last = () if days.last is None else (Bound("<=", days.last[:_MONTH]),)
    equal = {"generation": generation, "view": view, **own}
    async with aclosing(each_page(store, ROLLUPS, equal, "month", "asc", (*first, *last))) as pages:
        async for page in pages:
            for stored in page:
                yield stored.record


def balance_pages(
    store: Store, generation: str, account: str | None = None
) -> AsyncGenerator[Sequence[Stored[Balance]], None]:
    """What accounts hold at the watermark, page by page: all of them, or one in each of its currencies."""
    return each_page(store, BALANCES, {"generation": generation} | ({} if account is None else {"account": account}))


async def sheet_at(store: Store, generation: str, account: str, currency: str, seq: int) -> Sheet | None:
    """The last sheet of an account at or before a batch; None where it was not posted to by then."""
    equal = {"generation": generation, "account": account, "currency": currency}
    found = await SHEETS.find(store, equal, "seq", "desc", (Bound("<=", seq),), limit=1)
    return found[0].record if found else None


async def each_sheet(store: Store, generation: str, account: str, seq: int) -> AsyncGenerator[Sheet, None]:
    """An account's sheets at or before a batch, newest first; of one batch in no particular order."""
    equal = {"generation": generation, "account": account}
    pages = each_page(store, SHEETS, equal, "seq", "desc", (Bound("<=", seq),), _SHEETS)
    async with aclosing(pages):
        async for page in pages:
            for stored in page:
                yield stored.record
