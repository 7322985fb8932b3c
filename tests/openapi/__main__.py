"""`make hostile REQUESTS=5000`: generated requests to a suite of its own, with a table of results."""

import argparse
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from tests.openapi.asking import RoleAnswers, table, unlimited_suite, until
from tests.openapi.hostile import Scope


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.openapi", description=__doc__)
    parser.add_argument("--requests", type=int, default=5_000, help="at least so many, over all services")
    parser.add_argument("--examples", type=int, default=50, help="of each operation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--chained", action="store_true", help="also follow ids from answers into further requests")
    given = parser.parse_args()
    rows: list[RoleAnswers] = []
    console = Console(soft_wrap=True, highlight=False, markup=False)
    with tempfile.TemporaryDirectory() as folder, unlimited_suite(Path(folder)) as live:
        for each in until(live, given.requests, Scope(given.examples, given.seed, given.chained)):
            rows.append(each)
            console.print(f"{each.service} as {each.role.value}: {each.answers.requests} requests")
        broken = live.breakdowns()
    console.print(table(rows))
    failures = [
        f"{each.service} as {each.role.value}, {name}\n{text}"
        for each in rows
        for name, text in each.answers.failures.items()
    ]
    console.print(*failures, *broken, sep="\n\n")
    return 1 if failures or broken else 0


if __name__ == "__main__":
    sys.exit(main())
