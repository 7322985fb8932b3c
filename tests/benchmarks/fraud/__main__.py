"""Command `python -m tests.benchmarks.fraud`: prints the report; exit code 1 below a bar."""

import argparse
import logging
import sys
from collections.abc import Sequence

import structlog

from aex_governance.rules.config import load_rules
from tests.benchmarks.fraud.judging import STORES, judge_seeds
from tests.benchmarks.fraud.population import Size
from tests.benchmarks.fraud.report import Report

SEEDS = "101,102"
"""Default seeds, none of which is for tuning."""


def parse_seeds(text: str) -> list[int]:
    """Return the seeds of `7`, `101,103` or `101-104`. Raises `ArgumentTypeError`."""
    seeds: list[int] = []
    for part in filter(None, (each.strip() for each in text.replace(" ", ",").split(","))):
        first, _, last = part.partition("-")
        if not first.isdecimal() or (last and not last.isdecimal()) or int(last or first) < int(first):
            raise argparse.ArgumentTypeError(f"{part!r} is no seed: expected numbers, as in 101,103 or 101-104")
        seeds += range(int(first), int(last or first) + 1)
    if not seeds:
        raise argparse.ArgumentTypeError("expected at least one seed, as in 101,103 or 101-104")
    return list(dict.fromkeys(seeds))


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge the seeds and print the report."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    size = Size()
    parser = argparse.ArgumentParser(description="Detected fraud and false alarms of governance")
    parser.add_argument(
        "--seeds", type=parse_seeds, default=parse_seeds(SEEDS), help=f"as 101,103 or 101-104 ({SEEDS})"
    )
    parser.add_argument("--per-rule", type=int, default=size.per_rule, help="fraudulent examples of a rule and seed")
    parser.add_argument("--honest", type=int, default=size.honest, help="honest examples of a seed")
    parser.add_argument("--bursts", type=int, default=size.bursts, help="bursts of a seed, for the rule velocity")
    parser.add_argument("--store", choices=STORES, default=STORES[0])
    options = parser.parse_args(arguments)
    size = Size(options.per_rule, options.honest, options.bursts)
    report = Report(tuple(options.seeds), judge_seeds(options.seeds, size, load_rules(), options.store))
    sys.stdout.writelines(f"{line}\n" for line in report.lines())
    return 1 if report.failures() else 0


if __name__ == "__main__":
    sys.exit(main())
