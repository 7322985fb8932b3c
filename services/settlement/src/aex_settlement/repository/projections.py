"""The projections of the journal: rollups, balances, account pages, days and watermarks."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from aex_models.canonical import sha256_hex
from aex_runtime.store.port import Bound, Collection, Index, Query, Store
from aex_runtime.store.table import Reader, Table
from aex_settlement.repository.journal import name_unreadable
from aex_settlement.repository.pages import BATCH, document_pages, read_records
from aex_settlement.rules.projections import (
    AccountPage,
    Balance,
    DayBalance,
    DaySpan,
    Generation,
    Projection,
    ProjectionState,
    Rollup,
)

_MONTH = len("2025-01")
_PAGES = 32
"""Account pages of a busy account are long: a page of a listing seldom needs more than these."""
STATES = Table(Collection("settlement-projections"), ProjectionState)
"""By the projection's name."""
GENERATIONS = Table(
    Collection("settlement-generations", (Index(("projection",)),)),
    Generation,
    lambda g: {"projection": g.projection.value},
)

ROLLUPS = Table(
    Collection(
        "settlement-rollups",
        (
            Index(("generation", "view"), "month"),
            Index(("generation", "view", "agent"), "month"),
            Index(("generation", "view", "consumer"), "month"),
            Index(("generation",)),
        ),
    ),
    Rollup,
    lambda r: {"generation": r.generation, "view": r.view, "agent": r.agent, "consumer": r.consumer, "month": r.month},
)
"""A view's groups by month, all or those of one agent or consumer; the last index serves the removal of generations."""

BALANCES = Table(
    Collection("settlement-balances", (Index(("generation",)), Index(("generation", "account")))),
    Balance,
    lambda b: {"generation": b.generation, "account": b.account},
)
ACCOUNT_PAGES = Table(
    Collection(
        "settlement-sheets",
        (
            Index(("generation", "account"), "seq", "desc"),
            Index(("generation", "account", "currency"), "seq", "desc"),
            Index(("generation",)),
        ),
    ),
    AccountPage,
    lambda p: {"generation": p.generation, "account": p.account, "currency": p.currency, "seq": p.seq},
)
"""Newest first: an account's entries, and its last page at or before a batch."""
DAYS = Table(
    Collection("settlement-days", (Index(("generation", "account"), "day"), Index(("generation",)))),
    DayBalance,
    lambda d: {"generation": d.generation, "account": d.account, "day": d.day},
)
TABLES: Mapping[Projection, tuple[Table[Any], ...]] = {
    Projection.ACCOUNTS: (BALANCES, ACCOUNT_PAGES, DAYS),
    Projection.ROLLUPS: (ROLLUPS,),
}
"""The records of each projection."""


def projected_key(generation: str, *parts: str | None) -> str:
    """Return the key of a projected record: a hash of its identity, which spreads the keys."""
    identity = "\x1f".join(part or "" for part in (generation, *parts))
    return sha256_hex(identity.encode())[:40]


def page_key(page: AccountPage) -> str:
    return projected_key(page.generation, page.account, page.currency, str(page.seq))


def building_key(projection: Projection, generation: str) -> str:
    """Return the key of the watermark of a generation that is not read yet."""
    return f"{projection.value}-{generation}"


async def read_state(reader: Reader, projection: Projection) -> ProjectionState | None:
    """Return a projection's watermark; None before its first batch. Raises `UnreadableRecord`."""
    with name_unreadable(STATES.collection.name, projection.value):
        stored = await STATES.get(reader, projection.value)
    return stored.record if stored else None


def read_rollups(
    store: Store, generation: str, view: str, own: Mapping[str, str], days: DaySpan
) -> AsyncGenerator[Rollup, None]:
    """Yield the months of a view's groups that overlap `days`; `own` limits them to a party."""
    first = () if days.first is None else (Bound(">=", days.first[:_MONTH]),)
    last = () if days.last is None else (Bound("<=", days.last[:_MONTH]),)
    equal = {"generation": generation, "view": view, **own}
    query = Query(ROLLUPS.collection, equal, "month", bounds=(*first, *last), limit=BATCH)
    return read_records(store, ROLLUPS, query)


async def balance_pages(
    store: Store, generation: str, account: str | None = None
) -> AsyncGenerator[list[Balance], None]:
    """Yield the balances at the watermark: of all accounts, or of one in each of its currencies."""
    equal = {"generation": generation} if account is None else {"generation": generation, "account": account}
    async with aclosing(document_pages(store, Query(BALANCES.collection, equal, limit=BATCH))) as pages:
        async for page in pages:
            yield [BALANCES.decode(each).record for each in page]


async def account_page_at(store: Store, generation: str, account: str, currency: str, seq: int) -> AccountPage | None:
    """Return the last page of an account at or before a batch; None if nothing was posted until then."""
    equal = {"generation": generation, "account": account, "currency": currency}
    found = await ACCOUNT_PAGES.find(store, equal, "seq", "desc", (Bound("<=", seq),), limit=1)
    return found[0].record if found else None


def read_account_pages(store: Store, generation: str, account: str, seq: int) -> AsyncGenerator[AccountPage, None]:
    """Yield an account's pages at or before a batch, newest first; those of one batch in any order."""
    equal = {"generation": generation, "account": account}
    query = Query(ACCOUNT_PAGES.collection, equal, "seq", "desc", (Bound("<=", seq),), limit=_PAGES)
    return read_records(store, ACCOUNT_PAGES, query)
