"""The projections of the journal: rollups, balances, account sheets, daily balances, and how far each is."""

from collections.abc import Mapping
from typing import Any

from aex_models.canonical import sha256_hex
from aex_runtime.store.port import Collection, Index
from aex_runtime.store.table import Reader, Stored, Table
from aex_settlement.repository.readable import readable
from aex_settlement.rules.account_books import DayPlace, Place
from aex_settlement.rules.broken import UnreadableRecord
from aex_settlement.rules.projected import (
    Balance,
    DayBalance,
    Generation,
    Projection,
    ProjectionState,
    Rollup,
    Sheet,
)
from aex_settlement.rules.rollups import Group

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
    lambda r: {
        "generation": r.generation,
        "view": r.view,
        "agent": r.agent,
        "consumer": r.consumer,
        "month": r.month,
    },
)
"""A view's groups, all or those of one agent or consumer, by month; the last index is for removing a generation."""

BALANCES = Table(
    Collection("settlement-balances", (Index(("generation",)), Index(("generation", "account")))),
    Balance,
    lambda b: {"generation": b.generation, "account": b.account},
)
SHEETS = Table(
    Collection(
        "settlement-sheets",
        (
            Index(("generation", "account"), "seq", "desc"),
            Index(("generation", "account", "currency"), "seq", "desc"),
            Index(("generation",)),
        ),
    ),
    Sheet,
    lambda s: {"generation": s.generation, "account": s.account, "currency": s.currency, "seq": s.seq},
)
"""Newest first: an account's book, and its last page at or before a batch."""
DAYS = Table(
    Collection(
        "settlement-days",
        (Index(("generation", "account"), "day"), Index(("generation",))),
    ),
    DayBalance,
    lambda d: {"generation": d.generation, "account": d.account, "day": d.day},
)
TABLES: Mapping[Projection, tuple[Table[Any], ...]] = {
    Projection.ACCOUNTS: (BALANCES, SHEETS, DAYS),
    Projection.ROLLUPS: (ROLLUPS,),
}
"""What each projection consists of."""


def projected_key(*parts: str | None) -> str:
    """The key of a projected record: a hash of what it stands for, so that no two stand near each other."""
    return sha256_hex("\x1f".join("" if part is None else part for part in parts).encode())[:40]


def group_key(generation: str, group: Group) -> str:
    """The key of a group's rollup: by generation, view, group, currency and month."""
    return projected_key(generation, *group)


def balance_key(generation: str, place: Place) -> str:
    """By generation, account and currency."""
    return projected_key(generation, *place)


def day_key(generation: str, place: DayPlace) -> str:
    """By generation, account, currency and day."""
    return projected_key(generation, *place)


def sheet_key(sheet: Sheet) -> str:
    """By generation, account, currency and batch."""
    return projected_key(sheet.generation, sheet.account, sheet.currency, str(sheet.seq))


def building_key(projection: Projection, generation: str) -> str:
    """Where the watermark of a generation stands that is not read yet."""
    return f"{projection.value}-{generation}"


async def read_state(reader: Reader, projection: Projection) -> Stored[ProjectionState] | None:
    """A projection's watermark; None before its first batch."""
    with readable(STATES.collection.name, projection.value):
        return await STATES.get(reader, projection.value)


async def generation_read(reader: Reader, projection: Projection) -> str | None:
    """The generation that readers go by; None where there is none, or where nobody can tell any more."""
    try:
        stored = await read_state(reader, projection)
    except UnreadableRecord:
        return None
    return stored.record.generation if stored else None
