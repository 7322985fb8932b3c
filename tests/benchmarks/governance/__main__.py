"""Validations with a long history beside a short one: `python -m tests.benchmarks.governance`.

A rebuild makes the projections of both. After the validations the short history is rebuilt, which must change nothing.
"""

import argparse
import asyncio
import logging
import shutil
import time
from pathlib import Path

import structlog

from tests.benchmarks.governance.asking import TEXTS, HistoryClient
from tests.benchmarks.governance.making import make_history, projection_digest, rebuild, store_file
from tests.benchmarks.harness import (
    BenchRow,
    FigureUnit,
    TableRow,
    compare,
    data_folder,
    format_table,
    make_once,
    print_line,
)

BAR = 1.5
"""The highest ratio of a validation's time with the long history to that with the short one."""
MIX = ("labels",) * 7 + ("new prose",) * 3


async def _measure(large: Path, small: Path, rounds: int) -> list[TableRow]:
    """Return a row per kind of request, and one of bare commits."""
    first = time.time_ns() // 1_000_000
    own, baseline = (HistoryClient(folder, first) for folder in (large, small))
    rows: list[TableRow] = []
    kinds = {"ordinary mix, 3 in 10 prose": MIX, **{kind: (kind,) for kind in TEXTS}}
    for name, some in kinds.items():
        rates = await compare(own.side(*some), baseline.side(*some), rounds)
        rows.append(_row(name, small, rates, BAR))
    rows.append(_row("a bare commit", small, await compare(own.commit, baseline.commit, rounds), None))
    for folder, client in ((large, own), (small, baseline)):
        flags = ", ".join(f"{rule} {count}" for rule, count in sorted(client.flags.items()))
        print_line(f"{folder.name}: {client.number - first:,} requests; flagged: {flags or 'none'}")
        await client.deps.store.close()
    return rows


def _row(name: str, small: Path, rates: tuple[float, float], bar: float | None) -> BenchRow:
    return BenchRow(name, small.name, 1 / rates[0], 1 / rates[1], bar, FigureUnit.SECONDS)


async def _check_rebuild(folder: Path) -> None:
    """Rebuild the projections. Raises `AssertionError` when the rebuild changes them."""
    before = projection_digest(store_file(folder))
    await rebuild(folder)
    assert projection_digest(store_file(folder)) == before, "the rebuilt projections differ"
    print_line(f"{folder.name}: the rebuilt projections are equal")


def main() -> None:
    """Make, validate, rebuild and print."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.benchmarks.governance")
    parser.add_argument("--validations", type=int, default=1_000_000)
    parser.add_argument("--small", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--keep", type=Path, help="make the histories in this folder, or reuse those in it")
    options = parser.parse_args()
    with data_folder(options.keep) as folder:
        small, large = folder / f"small-{options.small}", folder / f"large-{options.validations}"
        shutil.rmtree(small, ignore_errors=True)  # the requests of earlier runs have made it larger
        make_once(small, lambda: asyncio.run(make_history(small, options.small)))
        make_once(large, lambda: asyncio.run(make_history(large, options.validations)))
        print_line(format_table(asyncio.run(_measure(large, small, options.rounds))))
        asyncio.run(_check_rebuild(small))


if __name__ == "__main__":
    main()
