"""`python -m tests.fidelity [PAIRS] [SEED]`: how far metrics are from the reference libraries; exit 1 where too far."""

import argparse
import asyncio
import sys

from tests.fidelity.cases import label_cases, text_cases
from tests.fidelity.differences import Row, label_rows, table, text_rows

PAIRS = 10_000


async def measure(pairs: int, seed: int) -> list[Row]:
    """All metrics, over so many pairs each."""
    return [*await text_rows(text_cases(seed, pairs)), *await label_rows(label_cases(seed, pairs))]


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and tell whether every bar is met."""
    parser = argparse.ArgumentParser(prog="python -m tests.fidelity", description=__doc__)
    parser.add_argument("pairs", nargs="?", type=int, default=PAIRS)
    parser.add_argument("seed", nargs="?", type=int, default=1)
    given = parser.parse_args(arguments)
    rows = asyncio.run(measure(given.pairs, given.seed))
    sys.stdout.write(table(rows) + "\n")
    return 0 if all(row.ok for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
