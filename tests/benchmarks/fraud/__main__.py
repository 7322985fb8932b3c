"""Command `python -m tests.benchmarks.fraud`: prints the report; exit code 1 below a bar."""

import argparse
import asyncio
import logging
import sys
from collections.abc import Sequence

import structlog

from aex_governance.rules.config import load_rule_configs
from tests.benchmarks.fraud.judging import judge
from tests.benchmarks.fraud.population import Size
from tests.benchmarks.fraud.report import Report

SEEDS = "101,102"
"""Default seeds, none of which is for tuning."""


def seeds(text: str) -> list[int]:
    return [int(each) for each in text.split(",")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge the seeds and print the report."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    size = Size()
    parser = argparse.ArgumentParser(description="Detected fraud and false alarms of governance")
    parser.add_argument("--seeds", type=seeds, default=SEEDS, help=f"as 101,103 ({SEEDS})")
    parser.add_argument("--per-rule", type=int, default=size.per_rule, help="fraudulent examples of a rule and seed")
    parser.add_argument("--honest", type=int, default=size.honest, help="honest examples of a seed")
    parser.add_argument("--bursts", type=int, default=size.bursts, help="bursts of a seed, for the rule velocity")
    options = parser.parse_args(arguments)
    size = Size(options.per_rule, options.honest, options.bursts)
    judged = [each for seed in options.seeds for each in asyncio.run(judge(seed, size, load_rule_configs()))]
    report = Report(options.seeds, judged)
    sys.stdout.writelines(f"{line}\n" for line in report.lines())
    return 1 if report.failures() else 0


if __name__ == "__main__":
    sys.exit(main())
