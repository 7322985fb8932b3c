"""What books of many settlements cost to read beside small ones: `python -m tests.benchmarks.ledger_bench`.

Makes both on real SQLite, seals and projects them, checks every answer against a recount out of the file, then asks
both the same in turns; and exports all rows over HTTP, with the memory that the service needs for it.
"""

import argparse
import asyncio
import logging
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import structlog

from aex_runtime.clock import WallClock
from aex_settlement.deps import Deps
from aex_settlement.handlers.read_ledger import read_trial_balance
from tests.benchmarks.bars import Row, Unit
from tests.benchmarks.ledger.drawing import DAYS, FIRST_DAY
from tests.benchmarks.ledger.exporting import Export, export
from tests.benchmarks.ledger.making import make_books
from tests.benchmarks.ledger.questions import QUESTIONS, Question, check_balances
from tests.benchmarks.ledger.recount import Recount, recount
from tests.benchmarks.ledger.writing import open_books, store_file
from tests.benchmarks.sides import Comparison, Side, compare
from tests.benchmarks.size import Size

SETTLEMENTS = 1_000_000
SMALL = 10_000
BAR = 1.5
"""The most that the large books may take of the time of the small ones."""
ROUNDS = 9
ASKED = 3
"""Times in one round."""
PAST = FIRST_DAY + timedelta(days=DAYS // 2)
"""A past instant: midnight in the middle, after everything of the day before was sealed."""


@dataclass(frozen=True, slots=True)
class Books:
    """Books in a data directory."""

    name: str
    folder: Path
    settlements: int


def say(text: str) -> None:
    """One line to stdout, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def make(books: Books) -> None:
    """Make them, unless they are there."""
    finished = books.folder / "finished"
    if finished.exists():
        say(f"{books.name}: {books.folder} is used as it is")
        return
    if books.folder.exists():
        shutil.rmtree(books.folder)  # begun once, and never finished
    begin = time.perf_counter()
    pace = await make_books(books.folder, books.settlements, lambda text: say(f"{books.name}: {text}"))
    finished.touch()
    say(
        f"{books.name}: made in {time.perf_counter() - begin:,.0f} s: {pace.written_s:,.0f} s to write, "
        f"{pace.sealed_s:,.0f} s to seal and project, {pace.indexed_s:,.0f} s to index\n"
        f"{books.name}: sealer throughput {pace.sealed_per_s:,.0f} transactions/s, projections included"
    )


async def check(deps: Deps, counted: Recount) -> None:
    """Raise `AssertionError` where an answer is not what the recount comes to."""
    for question in QUESTIONS:
        question.check(await question.ask(deps), counted.cells)
    check_balances((await read_trial_balance(deps, None)).accounts, counted.now)
    check_balances((await read_trial_balance(deps, PAST.isoformat())).accounts, counted.past)


async def measure(large: Deps, small: Deps) -> list[Comparison]:
    """Each question to both in turns."""
    found = [await compare(each.name, _asking(each, large), _asking(each, small), ROUNDS) for each in QUESTIONS]
    for name, as_of in (("trial balance, now", None), ("trial balance, past", PAST.isoformat())):
        found.append(await compare(name, _balancing(large, as_of), _balancing(small, as_of), ROUNDS))
    return found


def _asking(question: Question, deps: Deps) -> Side:
    async def ask() -> int:
        for _ in range(ASKED):
            await question.ask(deps)
        return ASKED

    return ask


def _balancing(deps: Deps, as_of: str | None) -> Side:
    async def ask() -> int:
        for _ in range(ASKED):
            await read_trial_balance(deps, as_of)
        return ASKED

    return ask


def table(comparisons: Sequence[Comparison], large: Books, small: Books) -> str:
    """What was measured, a line each."""
    width = max(len(each.name) for each in comparisons)
    head = f"{large.settlements:,}", f"{small.settlements:,}"
    lines = [f"{'':{width}}  {head[0]:>11}  {head[1]:>11}  {'ratio':>6}  {'bar':>5}  met   (medians)"]
    for each in comparisons:
        met = "yes" if each.overhead <= BAR else "NO"
        times = f"{1e3 / each.ours:>8.2f} ms  {1e3 / each.raw:>8.2f} ms"
        lines.append(f"{each.name:{width}}  {times}  {each.overhead:5.2f}x  {BAR:4.1f}x  {met}")
    return "\n".join(lines)


def told(books: Books, found: Export) -> str:
    """An export in one line."""
    return (
        f"export of {found.rows:,} rows ({books.name}): {found.seconds:,.1f} s, {found.rows_per_s:,.0f} rows/s; memory "
        f"{found.before_mb:.0f} MB before, {found.peak_mb:.0f} MB at its peak, {found.after_mb:.0f} MB after"
    )


async def compared(large: Books, small: Books) -> tuple[list[Comparison], dict[str, Recount]]:
    """Both made, recounted, and asked in turns."""
    both = (small, large)
    for books in both:
        await make(books)
    counts = {}
    for books in both:
        counts[books.name] = counted = recount(store_file(books.folder), PAST)
        say(f"{books.name}: recounted {counted.transactions:,} transactions with {counted.bookings:,} bookings")
    async with AsyncExitStack() as stack:
        opened = {}
        for books in both:
            deps = opened[books.name] = open_books(books.folder, WallClock())
            stack.push_async_callback(deps.store.close)
            await check(deps, counts[books.name])
            say(f"{books.name}: breakdowns and trial balances, now and past, equal the recount")
        return await measure(opened[large.name], opened[small.name]), counts


def rows(size: Size) -> list[Row]:
    """The questions as rows of the speed table."""
    with _books(size.settlements, SMALL, size.keep) as (large, small):
        found, _ = asyncio.run(compared(large, small))
    against = f"the same over {small.settlements:,}"
    return [
        Row(f"{each.name}, {large.settlements:,} settlements", against, 1 / each.ours, 1 / each.raw, BAR, Unit.SECONDS)
        for each in found
    ]


@contextmanager
def _books(large: int, small: int, keep: Path | None) -> Iterator[tuple[Books, Books]]:
    with tempfile.TemporaryDirectory(prefix="aex-ledger-") as temporary:
        place = (keep or Path(temporary)).absolute()
        yield Books("large", place / f"large-{large}", large), Books("small", place / f"small-{small}", small)


async def run(large: Books, small: Books) -> None:
    """The whole benchmark."""
    both = (small, large)
    comparisons, counts = await compared(large, small)
    say(table(comparisons, large, small))
    for books in both:
        found = await asyncio.to_thread(export, books.folder)
        say(told(books, found))
        found.check(counts[books.name].bookings, counts[books.name].cells)
        say(f"{books.name}: the export's columns add up to the recount")


def main(arguments: Sequence[str] | None = None) -> None:
    """Make, check, measure and print."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    parser = argparse.ArgumentParser(description="What books of many settlements cost to read beside small ones")
    parser.add_argument("--settlements", type=int, default=SETTLEMENTS)
    parser.add_argument("--small", type=int, default=SMALL)
    parser.add_argument("--keep", type=Path, help="make the books in this directory, or use those that are there")
    given = parser.parse_args(arguments)
    begin = time.perf_counter()
    with _books(given.settlements, given.small, given.keep) as books:
        asyncio.run(run(*books))
    say(f"{time.perf_counter() - begin:,.0f} s in all")


if __name__ == "__main__":
    main()
