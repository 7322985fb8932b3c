"""The rows of the speed table: `python -m tests.benchmarks [--only GROUP,GROUP]`.

A row below its bar prints NO and the command still succeeds, because times on a shared machine refuse no change.
A failed measurement or a wrong result ends the command with an error.
"""

import argparse
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import structlog

from tests.benchmarks.batches import measure_batches
from tests.benchmarks.harness import BenchSize, TableRow, format_table, print_line, print_progress
from tests.benchmarks.health import measure_health
from tests.benchmarks.hidden_tests import measure_hidden_tests
from tests.benchmarks.ledger.__main__ import measure_ledger
from tests.benchmarks.lists import measure_lists
from tests.benchmarks.metrics import measure_metrics
from tests.benchmarks.publishing import measure_publishing
from tests.benchmarks.readiness import measure_readiness
from tests.benchmarks.settling import measure_settling
from tests.benchmarks.starting import measure_starts

GROUPS: Mapping[str, Callable[[BenchSize], Sequence[TableRow]]] = {
    "metrics": measure_metrics,
    "batches": measure_batches,
    "hidden-tests": measure_hidden_tests,
    "publishing": measure_publishing,
    "settling": measure_settling,
    "ledger": measure_ledger,
    "starting": measure_starts,
    "health": measure_health,
    "lists": measure_lists,
    "readiness": measure_readiness,
}
"""The groups of rows, in the order of the table."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the table to stdout, progress to stderr."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    default = BenchSize()
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.benchmarks")
    parser.add_argument("--only", default=",".join(GROUPS), help=f"some of {','.join(GROUPS)}")
    parser.add_argument("--rounds", type=int, default=default.rounds, help="counted rounds of each side")
    parser.add_argument("--seconds", type=float, default=default.seconds, help="length of a round of requests")
    parser.add_argument("--settlements", type=int, default=default.settlements, help="in the large ledger")
    parser.add_argument("--keep", type=Path, help="make the ledgers in this folder, or reuse those in it")
    options = parser.parse_args(arguments)
    names = options.only.split(",")
    if unknown := set(names) - set(GROUPS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(GROUPS)}")
    size = BenchSize(options.rounds, options.seconds, options.settlements, options.keep)
    rows: list[TableRow] = []
    for name in (each for each in GROUPS if each in names):
        begin = time.perf_counter()
        rows += GROUPS[name](size)
        print_progress(f"{name}: measured in {time.perf_counter() - begin:,.0f} s")
    print_line(format_table(rows))


if __name__ == "__main__":
    main()
