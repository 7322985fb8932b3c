"""Differences of the metrics from the reference libraries: `python -m tests.fidelity [PAIRS] [SEED]`.

The command exits with 1 when a difference exceeds its bar.
"""

import argparse
import asyncio
import sys

from tests.fidelity.answers import answer_rows, constructed_cases
from tests.fidelity.cases import label_cases, text_cases
from tests.fidelity.differences import FidelityRow, format_table, label_rows, text_rows
from tests.fidelity.extraction import records_cases, records_rows
from tests.fidelity.prediction_cases import number_cases, probability_cases
from tests.fidelity.predictions import number_rows, probability_rows
from tests.fidelity.ranking import ranking_cases, ranking_rows

PAIRS = 10_000


async def measure(pairs: int, seed: int) -> list[FidelityRow]:
    """Return a row per metric, over so many pairs each."""
    return [
        *await text_rows(text_cases(seed, pairs)),
        *await label_rows(label_cases(seed, pairs)),
        *await answer_rows(text_cases(seed, pairs), constructed_cases(seed, pairs)),
        *await number_rows(number_cases(seed), pairs),
        *await probability_rows(probability_cases(seed, pairs)),
        *await records_rows(records_cases(seed, pairs)),
        *await ranking_rows(ranking_cases(seed, pairs)),
    ]


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; return 0 when every bar is met, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.fidelity", description=__doc__)
    parser.add_argument("pairs", nargs="?", type=int, default=PAIRS)
    parser.add_argument("seed", nargs="?", type=int, default=1)
    options = parser.parse_args(arguments)
    rows = asyncio.run(measure(options.pairs, options.seed))
    sys.stdout.write(format_table(rows) + "\n")
    return 0 if all(row.is_met for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
