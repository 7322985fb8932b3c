"""Every row of the speed table, measured and told as one: `python -m tests.benchmarks [--only GROUP,GROUP]`.

A row below its bar says NO and fails nothing: what a shared machine measures today is no reason to refuse a change.
What cannot be measured, or is measured to be wrong (another answer, another sum), ends the command with an error.
"""

import argparse
import asyncio
import logging
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import structlog
import uvloop

from tests.benchmarks import ledger_bench, metrics_bench
from tests.benchmarks.bars import Line, table
from tests.benchmarks.publishing import bench as publishing
from tests.benchmarks.publishing.bench import UNLIMITED
from tests.benchmarks.responding import health, readiness
from tests.benchmarks.settling import bench as settling
from tests.benchmarks.size import Size
from tests.benchmarks.starting import bench as starting
from tests.e2e.live import live_suite

Measure = Callable[[Size], Sequence[Line]]


def _metrics(_: Size) -> Sequence[Line]:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # as services run
        return runner.run(metrics_bench.measure())


def _health(size: Size) -> Sequence[Line]:
    with (
        tempfile.TemporaryDirectory(prefix="aex-health-") as place,
        live_suite(Path(place) / ".aex", environment=UNLIMITED) as live,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        return runner.run(health.measure(live, size))


def _readiness(_: Size) -> Sequence[Line]:
    return readiness.measure()


GROUPS: Mapping[str, Measure] = {
    "metrics": _metrics,
    "publishing": publishing.measure,
    "settling": settling.rows,
    "books": ledger_bench.rows,
    "starting": starting.measure,
    "health": _health,
    "readiness": _readiness,
}
"""In the order of the table."""


def say(text: str) -> None:
    """One line to stderr, at once: the table alone is stdout's."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    ordinary = Size()
    parser = argparse.ArgumentParser(description="Every row of the speed table", prog="python -m tests.benchmarks")
    parser.add_argument("--only", default=",".join(GROUPS), help=f"some of {','.join(GROUPS)}")
    parser.add_argument("--rounds", type=int, default=ordinary.rounds, help="of each side, in turns")
    parser.add_argument("--seconds", type=float, default=ordinary.seconds, help="of a round that has no other end")
    parser.add_argument("--settlements", type=int, default=ordinary.settlements, help="in the large books")
    parser.add_argument("--keep", type=Path, help="make the books in this directory, or use those that are there")
    given = parser.parse_args(arguments)
    wanted = given.only.split(",")
    if unknown := set(wanted) - set(GROUPS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(GROUPS)}")
    size = Size(given.rounds, given.seconds, given.settlements, given.keep)
    rows: list[Line] = []
    for name in (each for each in GROUPS if each in wanted):
        begin = time.perf_counter()
        rows += GROUPS[name](size)
        say(f"{name}: measured in {time.perf_counter() - begin:,.0f} s")
    sys.stdout.write(table(rows) + "\n")


if __name__ == "__main__":
    main()
