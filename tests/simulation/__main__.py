"""`make simulate`: run many seeds, print a table, and the smallest plan that breaks a promise."""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.simulation.planted import PLANTS
from tests.simulation.planted.plant import NOTHING, Plant
from tests.simulation.runs.many import run_seeds_in_processes
from tests.simulation.runs.plan import Plan
from tests.simulation.runs.report import Totals, describe_failure, format_table
from tests.simulation.runs.running import STEPS, Broken, RunResult, run_plan
from tests.simulation.runs.shrinking import shrink_plan
from tests.simulation.world import WEIGHTS

_ENOUGH = 3
"""Broken seeds after which the report stops."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run seeds or a plan, print the report, and return the exit code.

    0: every promise was kept. 1: one was broken. 2: the plan cannot be read.
    """
    expected = _arguments(arguments)
    if expected.plant == "list":
        _say(*(f"{name:<32}{plant.story}" for name, plant in PLANTS.items()))
        return 0
    plant = PLANTS[expected.plant] if expected.plant else NOTHING
    if expected.plan:
        try:
            plan = Plan.from_json(Path(expected.plan).read_text(encoding="utf-8"), WEIGHTS)
        except (OSError, ValueError) as error:
            sys.stderr.write(f"{expected.plan} cannot be run: {error}; a plan is what a broken seed prints\n")
            return 2
        return _one(plan, plant)
    return _many(range(expected.first, expected.first + expected.seeds), expected.steps, expected.jobs, plant)


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--steps", type=int, default=STEPS, help="of each run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--plant", choices=[*PLANTS, "list"], help="a bug to be caught; list: which there are")
    parser.add_argument("--plan", help="a file with one plan, to be run alone")
    return parser.parse_args(arguments)


def _one(plan: Plan, plant: Plant) -> int:
    result = run_plan(plan, plant)
    _say(*result.trace)
    if result.broken is None:
        _say(f"{len(plan.steps)} steps of seed {plan.seed}: every promise was kept")
        return 0
    _say(f"BROKEN: {result.broken.promise}", result.broken.detail, result.broken.where)
    return 1


def _many(seeds: range, steps: int, jobs: int, plant: Plant) -> int:
    began, totals = time.monotonic(), Totals()
    enough = _ENOUGH if plant is NOTHING else 1
    broken: list[tuple[RunResult, Broken]] = []
    for result in run_seeds_in_processes(seeds, steps, jobs, plant.name):
        totals.add(result)
        if result.broken is not None:
            broken.append((result, result.broken))
            sys.stderr.write(f"seed {result.plan.seed} broke a promise: {result.broken.detail}\n")
        if len(broken) >= enough:
            break
    _say(format_table(totals, time.monotonic() - began, jobs))
    for each, promise in broken:
        _say("", _printed(each, promise, plant))
    _say("", _verdict(totals, broken, plant))
    return 1 if broken else 0


def _verdict(totals: Totals, broken: Sequence[tuple[RunResult, Broken]], plant: Plant) -> str:
    seeds = f"{totals.seeds:,} seeds"
    if plant is NOTHING:
        return f"{len(broken)} of {seeds} broke a promise" if broken else f"{seeds}: every promise was kept"
    caught = f"caught by seed {broken[0][0].plan.seed}: {broken[0][1].promise}" if broken else f"NOT caught by {seeds}"
    return f"planted bug {plant.name} ({plant.story}): {caught}"


def _printed(result: RunResult, broken: Broken, plant: Plant) -> str:
    """Shrink a failing plan, write it to a file, and return the description of the failure."""

    def breaks_the_same(plan: Plan) -> bool:
        found = run_plan(plan, plant).broken
        return found is not None and found.promise == broken.promise

    smaller = run_plan(shrink_plan(result.plan, breaks_the_same), plant)
    kept = Path(f".aex/simulation/seed-{result.plan.seed}.json")
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(smaller.plan.to_json(), encoding="utf-8")
    planted = f" PLANT={plant.name}" if plant is not NOTHING else ""
    return describe_failure(
        result, broken, smaller, [f"SEEDS=1 FIRST={result.plan.seed}{planted}", f"PLAN={kept}{planted}"]
    )


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
