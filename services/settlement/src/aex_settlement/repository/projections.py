"""Tables of the journal's projections: rollups, balances, account pages, days, and their watermarks."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from aex_models.canonical import sha256_hex
from aex_runtime.store.port import Bound, Collection, Index, Query, Store
from aex_runtime.store.table import Reader, Table
from aex_settlement.repository.journal import as_unreadable_record
from aex_settlement.repository.pages import BATCH, iterate_pages, iterate_records
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
"""Account pages read at once; a page of a listing seldom needs more."""
STATES = Table(Collection("settlement-projections"), ProjectionState)
"""Watermarks of projections. The generation that is read has the projection's name as its key."""
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
"""Rollups, indexed by view and month: all, or those of one agent or consumer. The last index serves deletion."""

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
"""Account pages, newest first: for an account's entries, and its last page at or before a batch."""
DAYS = Table(
    Collection("settlement-days", (Index(("generation", "account"), "day"), Index(("generation",)))),
    DayBalance,
    lambda d: {"generation": d.generation, "account": d.account, "day": d.day},
)
TABLES: Mapping[Projection, tuple[Table[Any], ...]] = {
    Projection.ACCOUNTS: (BALANCES, ACCOUNT_PAGES, DAYS),
    Projection.ROLLUPS: (ROLLUPS,),
}
"""Tables with the records of each projection."""


def projected_key(generation: str, *parts: str | None) -> str:
    """Return the key of a projection record: a hash of generation and identity, which spreads writes."""
    identity = "\x1f".join(part or "" for part in (generation, *parts))
    return sha256_hex(identity.encode())[:40]


def account_page_key(page: AccountPage) -> str:
    """Return the key of an account page."""
    return projected_key(page.generation, page.account, page.currency, str(page.seq))


def building_watermark_key(projection: Projection, generation: str) -> str:
    """Return the key of the watermark of a generation that a rebuild fills and no reader uses yet."""
    return f"{projection.value}-{generation}"


async def read_projection_state(reader: Reader, projection: Projection) -> ProjectionState | None:
    """Return watermark and generation of a projection; None before its first batch.

    Raises `UnreadableRecord`.
    """
    with as_unreadable_record(STATES.collection.name, projection.value):
        stored = await STATES.get(reader, projection.value)
    return stored.record if stored else None


def iterate_rollups(
    store: Store, generation: str, view: str, party_filter: Mapping[str, str], days: DaySpan
) -> AsyncGenerator[Rollup, None]:
    """Yield a view's rollups in the months that overlap `days`; `party_filter` limits them to one party."""
    first = () if days.first is None else (Bound(">=", days.first[:_MONTH]),)
    last = () if days.last is None else (Bound("<=", days.last[:_MONTH]),)
    equal = {"generation": generation, "view": view, **party_filter}
    query = Query(ROLLUPS.collection, equal, "month", bounds=(*first, *last), limit=BATCH)
    return iterate_records(store, ROLLUPS, query)


async def iterate_balance_pages(
    store: Store, generation: str, account: str | None = None
) -> AsyncGenerator[list[Balance], None]:
    """Yield pages of current balances: of all accounts, or of one account in each of its currencies."""
    equal = {"generation": generation} if account is None else {"generation": generation, "account": account}
    async with aclosing(iterate_pages(store, Query(BALANCES.collection, equal, limit=BATCH))) as pages:
        async for page in pages:
            yield [BALANCES.decode(each).record for each in page]


async def find_account_page_at(
    store: Store, generation: str, account: str, currency: str, seq: int
) -> AccountPage | None:
    """Return the last page of an account and currency at or before batch `seq`; None if there is none."""
    equal = {"generation": generation, "account": account, "currency": currency}
    found = await ACCOUNT_PAGES.find(store, equal, "seq", "desc", (Bound("<=", seq),), limit=1)
    return found[0].record if found else None


def iterate_account_pages_backwards(
    store: Store, generation: str, account: str, last_seq: int
) -> AsyncGenerator[AccountPage, None]:
    """Yield an account's pages up to batch `last_seq`, newest first; those of one batch in any order."""
    equal = {"generation": generation, "account": account}
    query = Query(ACCOUNT_PAGES.collection, equal, "seq", "desc", (Bound("<=", last_seq),), limit=_PAGES)
    return iterate_records(store, ACCOUNT_PAGES, query)
