"""Books of a wanted size on real SQLite: written day by day by several processes, sealed and projected as in service.

Whole days are written at once, in units of many settlements, and the indexes of what nobody reads meanwhile are made at
the end, as one loads data in bulk; every record is the work of the service's own rules and repository.
"""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path

from aex_runtime.clock import SetClock
from aex_runtime.store.port import Query, Store
from aex_settlement.deps import Deps
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.repository.settlements import SETTLEMENTS
from aex_settlement.sealer import catch_up
from tests.benchmarks.ledger.correcting import correct_some
from tests.benchmarks.ledger.drawing import DAYS, FIRST_DAY, Share, shares
from tests.benchmarks.ledger.writing import WRITERS, open_books, store_file, writers

Say = Callable[[str], None]
_EVENING, _SEALING = timedelta(hours=23, minutes=50), timedelta(hours=23, minutes=59)
_UNREAD = (SETTLEMENTS.collection, TRANSACTIONS.collection)
"""By queries, as long as the books are being made."""


@dataclass(slots=True)
class Pace:
    """What making the books took, in seconds."""

    written_s: float = 0.0
    sealed_s: float = 0.0
    sealed: int = 0
    """Transactions that were sealed and projected."""
    indexed_s: float = 0.0

    @property
    def sealed_per_s(self) -> float:
        """The sealer's throughput, projections included."""
        return self.sealed / self.sealed_s


async def make_books(folder: Path, settlements: int, say: Say) -> Pace:
    """Write, correct, seal and project so many settlements. The folder holds nothing yet."""
    pace, clock = Pace(), SetClock(FIRST_DAY)
    day_before: Sequence[Share] = ()
    deps = open_books(folder, clock)
    try:
        await _declare(deps.store)
        with writers(folder) as lines:
            for day in shares(settlements, WRITERS):
                await _live_through(deps, clock, lines, day, day_before, pace)
                if day[0].day == 0:
                    _drop_indexes(folder)  # every process has met its collections, and will not make them anew
                if day[0].day % 10 == 9 or day[0].day == DAYS - 1:
                    say(_progress(day, settlements, pace))
                day_before = day
    finally:
        await deps.store.close()
    await _make_indexes(folder, pace)
    return pace


async def _live_through(
    deps: Deps,
    clock: SetClock,
    lines: Sequence[Connection],
    day: Sequence[Share],
    day_before: Sequence[Share],
    pace: Pace,
) -> None:
    """One day: its settlements, finance's corrections in the evening, and the sealing of it all before midnight."""
    begin = time.perf_counter()
    for line, share in zip(lines, day, strict=True):
        line.send(share)
    for line in lines:
        await asyncio.to_thread(line.recv)
    clock.advance(day[0].begin + _EVENING - clock.now())
    corrected = await correct_some(deps, day_before)
    clock.advance(_SEALING - _EVENING)
    written = time.perf_counter()
    await catch_up(deps)
    pace.written_s += written - begin
    pace.sealed_s += time.perf_counter() - written
    pace.sealed += sum(map(len, day)) + corrected


def _progress(day: Sequence[Share], settlements: int, pace: Pace) -> str:
    done = day[0].end
    return (
        f"{day[0].begin:%Y-%m-%d}: {done:,} of {settlements:,} settlements; "
        f"{done / pace.written_s:,.0f}/s written, {pace.sealed_per_s:,.0f}/s sealed and projected"
    )


async def _declare(store: Store) -> None:
    """Have the store make the collections' indexes, as it does at the first query."""
    for collection in _UNREAD:
        index = next(each for each in collection.indexes if each.order and not each.equal)
        await store.query(Query(collection, {}, index.order, index.direction, limit=1))


def _drop_indexes(folder: Path) -> None:
    with closing(sqlite3.connect(store_file(folder), isolation_level=None)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'index'")]
        for name in names:
            if name.startswith(tuple(f"{collection.name} by " for collection in _UNREAD)):
                connection.execute(f'DROP INDEX "{name}"')


async def _make_indexes(folder: Path, pace: Pace) -> None:
    begin = time.perf_counter()
    deps = open_books(folder, SetClock(FIRST_DAY))
    try:
        await _declare(deps.store)
    finally:
        await deps.store.close()
    pace.indexed_s = time.perf_counter() - begin
