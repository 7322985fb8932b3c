"""How much fraud is caught, and how much honest work is flagged: `python -m tests.benchmarks.fraud`.

Exit code 1 where a bar is not reached. With `--example KEY` one example is shown in full, as it went in its population.
"""

import argparse
import asyncio
import json
import logging
import sys
from collections.abc import Sequence

import structlog
from rich.console import Console

from aex_governance.rules.config import load_rules
from aex_models.governance import ValidationDecision, ValidationRequest
from tests.benchmarks.fraud.judging import judge, judged_seeds
from tests.benchmarks.fraud.population import Moment, Size, UnknownExample, story
from tests.benchmarks.fraud.report import Report
from tests.benchmarks.fraud.service import STORES, limits_of, serving
from tests.benchmarks.fraud.telling import as_json, tell

SEEDS = "101,102"
"""Of the default run: none of them is a tuning seed."""
WIDTH = 120
"""Columns where no terminal tells."""


def seeds_of(text: str) -> list[int]:
    """`7`, `101,103` or `101-104`. Raises `ArgumentTypeError`."""
    found: list[int] = []
    for part in filter(None, (each.strip() for each in text.replace(" ", ",").split(","))):
        first, _, last = part.partition("-")
        if not first.isdecimal() or (last and not last.isdecimal()) or int(last or first) < int(first):
            raise argparse.ArgumentTypeError(f"{part!r} is no seed: expected numbers, as in 101,103 or 101-104")
        found += range(int(first), int(last or first) + 1)
    if not found:
        raise argparse.ArgumentTypeError("expected at least one seed, as in 101,103 or 101-104")
    return list(dict.fromkeys(found))


def show(key: str, size: Size, store: str) -> None:
    """One story with its whole population around it: what was asked about each of its attempts, and decided."""
    rules = load_rules()
    limits = limits_of(rules)
    story(key, limits)  # refused at once where there is none

    def print_if_asked(moment: Moment, request: ValidationRequest, decision: ValidationDecision) -> None:
        if moment.story.key != key:
            return
        label = moment.story.attempts[moment.place].label
        shown = {
            "attempt": moment.place,
            "label": None if label is None else f"{label.subject}, {label.variant}, {label.severity}",
            "request": request.model_dump(mode="json", exclude_none=True),
            "decision": decision.model_dump(mode="json"),
        }
        sys.stdout.write(json.dumps(shown, indent=2, ensure_ascii=False) + "\n")

    seed = int(key.partition("/")[0])
    asyncio.run(judge(seed, size, serving(rules, store), limits, print_if_asked))


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge and tell."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    given = _parser().parse_args(arguments)
    size = Size(given.per_rule, given.honest, given.bursts)
    if given.example:
        try:
            show(given.example, size, given.store)
        except UnknownExample as error:
            sys.stderr.write(f"{error}\n")
            return 2
        return 0
    report = Report(tuple(given.seeds), judged_seeds(given.seeds, size, load_rules(), given.store))
    if given.json:
        sys.stdout.write(as_json(report) + "\n")
    else:
        tell(report, Console(width=None if sys.stdout.isatty() else WIDTH))
    return 1 if report.below() else 0


def _parser() -> argparse.ArgumentParser:
    size = Size()
    parser = argparse.ArgumentParser(description="How much fraud governance catches, and how much honest work it flags")
    parser.add_argument("--seeds", type=seeds_of, default=seeds_of(SEEDS), help=f"as in 101,103 or 101-104 ({SEEDS})")
    parser.add_argument("--per-rule", type=int, default=size.per_rule, help="fraudulent examples of a rule and seed")
    parser.add_argument("--honest", type=int, default=size.honest, help="honest examples of a seed")
    parser.add_argument("--bursts", type=int, default=size.bursts, help="bursts of a seed, for the rule velocity")
    parser.add_argument("--store", choices=STORES, default=STORES[0])
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument("--example", metavar="KEY", help="show one example in full, in the population of its seed")
    return parser


if __name__ == "__main__":
    sys.exit(main())
