"""What a validation costs with a long past beside a short one: `python -m tests.benchmarks.governance_bench`.

Makes both histories on real SQLite, then asks both the same in turns; sets a bare commit beside it; and rebuilds the
projections of a third history from its log, which must come to what was made.
"""

import argparse
import asyncio
import logging
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import structlog

from aex_governance.handlers.rebuild.rebuild_projections import rebuild_projections
from aex_governance.handlers.rebuild.rebuilder import Rebuilder
from aex_runtime.clock import WallClock
from aex_runtime.ids import RandomIds
from aex_runtime.store.sqlite import SQLiteStore
from tests.benchmarks.governance.asking import KINDS, History, open_history
from tests.benchmarks.governance.making import make_history, store_file
from tests.benchmarks.governance.projected import digest
from tests.benchmarks.sides import Comparison, Side, compare

VALIDATIONS = 1_000_000
SMALL = 1_000
REBUILT = 20_000
BAR = 1.5
"""The most that a validation with the long past may take of the time of one with the short past."""
ROUNDS = 9


@dataclass(frozen=True, slots=True)
class Past:
    """A history in a data directory."""

    name: str
    folder: Path
    contracts: int


def say(text: str) -> None:
    """One line to stdout, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def make(past: Past) -> None:
    """Make it, unless it is there."""
    finished = past.folder / "finished"
    if finished.exists():
        say(f"{past.name}: {past.folder} is used as it is")
        return
    if past.folder.exists():
        shutil.rmtree(past.folder)  # begun once, and never finished
    begin = time.perf_counter()
    make_history(past.folder, past.contracts, lambda text: say(f"{past.name}: {text}"))
    finished.touch()
    say(f"{past.name}: made in {time.perf_counter() - begin:,.0f} s")


async def measure(large: History, small: History, rounds: int) -> list[Comparison]:
    """Each kind of question to both in turns, and the ordinary mix."""
    sides: dict[str, tuple[Side, Side]] = {"ordinary mix, 3 in 10 prose": (large.ask_mixed, small.ask_mixed)}
    sides |= {kind: (_asking(large, kind), _asking(small, kind)) for kind in KINDS}
    sides["a bare commit"] = large.commit, small.commit
    return [await compare(name, *both, rounds) for name, both in sides.items()]


def _asking(history: History, kind: str) -> Side:
    async def ask() -> int:
        return await history.ask(kind)

    return ask


def table(comparisons: Sequence[Comparison], large: Past, small: Past) -> str:
    """What was measured, a line each; times are of one validation."""
    width = max(len(each.name) for each in comparisons)
    bare = comparisons[-1]
    head = f"{large.contracts:,}", f"{small.contracts:,}"
    lines = [f"{'':{width}}  {head[0]:>11}  {head[1]:>11}  {'ratio':>6}  {'bar':>5}  met  {'commits':>8}  (medians)"]
    for each in comparisons:
        met = "" if each is bare else "yes" if each.overhead <= BAR else "NO"
        times = f"{1e3 / each.ours:>8.2f} ms  {1e3 / each.raw:>8.2f} ms"
        bar = "" if each is bare else f"{BAR:4.1f}x"
        lines.append(
            f"{each.name:{width}}  {times}  {each.overhead:5.2f}x  {bar:>5}  {met:3}  {bare.ours / each.ours:7.1f}x"
        )
    return "\n".join(lines)


async def rebuild(past: Past) -> None:
    """Make its projections anew from its log. Raises `AssertionError` where they come to something else."""
    file = store_file(past.folder)
    before = digest(file)
    store = SQLiteStore(file)
    begin = time.perf_counter()
    try:
        made = await rebuild_projections(Rebuilder(store, WallClock(), RandomIds(), lambda *_: None))
    finally:
        await store.close()
    seconds = time.perf_counter() - begin
    records = sum(mark.read for mark in made.logs.values())
    assert digest(file) == before, "the rebuild came to something else than what was there"
    say(
        f"{past.name}: {records:,} records rebuilt in {seconds:,.1f} s, {records / seconds:,.0f} records/s, "
        f"{made.removed:,} documents of before removed; the new ones equal them"
    )


async def ask(large: Past, small: Past, rounds: int) -> None:
    """Both histories, in turns."""
    async with AsyncExitStack() as stack:
        opened, first = {}, time.time_ns() // 1_000_000
        for past in (small, large):
            history = opened[past.name] = open_history(past.folder, first)
            stack.push_async_callback(history.deps.store.close)
        say(table(await measure(opened[large.name], opened[small.name], rounds), large, small))
        for past in (small, large):
            history = opened[past.name]
            flags = ", ".join(f"{rule} {count}" for rule, count in sorted(history.raised.items()))
            say(f"{past.name}: {history.asked - first:,} asked; flagged: {flags or 'none'}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Make, ask, rebuild and print."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    parser = argparse.ArgumentParser(description="What a validation costs with a long past beside a short one")
    parser.add_argument("--validations", type=int, default=VALIDATIONS)
    parser.add_argument("--small", type=int, default=SMALL)
    parser.add_argument("--rebuilt", type=int, default=REBUILT, help="records to rebuild from, validations")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--keep", type=Path, help="make the histories in this directory, or use those that are there")
    given = parser.parse_args(arguments)
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="aex-governance-") as temporary:
        place = (given.keep or Path(temporary)).absolute()
        sizes = {"small": given.small, "large": given.validations, "rebuilt": given.rebuilt}
        small, large, rebuilt = (Past(name, place / f"{name}-{count}", count) for name, count in sizes.items())
        shutil.rmtree(small.folder, ignore_errors=True)  # what earlier runs asked would have made it larger
        for past in (small, large, rebuilt):
            make(past)
        asyncio.run(ask(large, small, given.rounds))
        asyncio.run(rebuild(rebuilt))
    say(f"{time.perf_counter() - begin:,.0f} s in all")


if __name__ == "__main__":
    main()
