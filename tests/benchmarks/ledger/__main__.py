"""Reads of a large ledger beside a small one: `python -m tests.benchmarks.ledger`.

Both are made on SQLite, sealed and projected. Every response is checked against a recount before the timing, and all
rows are exported over HTTP.
"""

import argparse
import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import structlog

from aex_runtime.clock import WallClock
from aex_settlement.deps import Deps
from aex_settlement.handlers.read_ledger import read_trial_balance
from tests.benchmarks.harness import (
    BenchRow,
    BenchSize,
    FigureUnit,
    TableRow,
    compare,
    data_folder,
    format_table,
    make_once,
    print_line,
    repeat_call,
)
from tests.benchmarks.ledger.drawing import DAYS, FIRST_DAY
from tests.benchmarks.ledger.exporting import measure_export
from tests.benchmarks.ledger.making import make_ledger, open_ledger, store_file
from tests.benchmarks.ledger.reading import QUERIES, check_balances
from tests.benchmarks.ledger.recount import LedgerSums, recount

SMALL = 10_000
BAR = 1.5
"""The highest ratio of the large ledger's time to the small one's."""
ROUNDS = 9
READS = 3
"""In one round."""
PAST = FIRST_DAY + timedelta(days=DAYS // 2)
"""A midnight after which all earlier transactions are sealed."""
Read = Callable[[Deps], Awaitable[object]]


def _make_checked(folder: Path, settlements: int) -> LedgerSums:
    """Make a ledger and check all of its reads."""
    make_once(folder, lambda: asyncio.run(make_ledger(folder, settlements)))
    sums = recount(store_file(folder), PAST)
    asyncio.run(_check(folder, sums))
    print_line(f"{folder.name}: breakdowns and trial balances, now and past, equal the recount")
    return sums


async def _check(folder: Path, sums: LedgerSums) -> None:
    deps = open_ledger(folder, WallClock())
    try:
        for query in QUERIES:
            query.check(await query.read(deps), sums)
        await check_balances(deps, None, sums.now)
        await check_balances(deps, PAST.isoformat(), sums.past)
    finally:
        await deps.store.close()


async def _measure(large: Path, small: Path, name: str, against: str) -> list[TableRow]:
    """Return a row per read."""
    reads: dict[str, Read] = {query.name: query.read for query in QUERIES}
    reads["trial balance, now"] = lambda deps: read_trial_balance(deps, None)
    reads["trial balance, past"] = lambda deps: read_trial_balance(deps, PAST.isoformat())
    both = [open_ledger(folder, WallClock()) for folder in (large, small)]
    rows: list[TableRow] = []
    try:
        for text, read in reads.items():
            own, baseline = await compare(
                repeat_call(read, both[:1], READS), repeat_call(read, both[1:], READS), ROUNDS
            )
            rows.append(BenchRow(f"{text}, {name}", against, 1 / own, 1 / baseline, BAR, FigureUnit.SECONDS))
    finally:
        for deps in both:
            await deps.store.close()
    return rows


def measure_ledger(size: BenchSize, small: int = SMALL, *, has_export: bool = False) -> list[TableRow]:
    """Make both ledgers, check their reads, and return the rows of the speed table."""
    with data_folder(size.keep) as folder:
        folders = folder / f"large-{size.settlements}", folder / f"small-{small}"
        sums = [_make_checked(each, number) for each, number in zip(folders, (size.settlements, small), strict=True)]
        name, against = f"{size.settlements:,} settlements", f"the same over {small:,}"
        rows = asyncio.run(_measure(*folders, name, against))
        if has_export:
            for each, counted in zip(folders, sums, strict=True):
                measure_export(each, counted)
    return rows


def main() -> None:
    """Make, check, measure and print."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.benchmarks.ledger")
    parser.add_argument("--settlements", type=int, default=BenchSize().settlements)
    parser.add_argument("--small", type=int, default=SMALL)
    parser.add_argument("--keep", type=Path, help="make the ledgers in this folder, or reuse those in it")
    options = parser.parse_args()
    size = BenchSize(settlements=options.settlements, keep=options.keep)
    print_line(format_table(measure_ledger(size, options.small, has_export=True)))


if __name__ == "__main__":
    main()
