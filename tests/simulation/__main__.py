"""`make simulate`: many seeds on all processors, one table, and the smallest plan of whatever broke."""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.simulation.planted import PLANTS
from tests.simulation.planted.plant import NOTHING, Plant
from tests.simulation.runs.many import results_in_turn
from tests.simulation.runs.plan import Plan
from tests.simulation.runs.report import Totals, broken_seed, table_of
from tests.simulation.runs.running import STEPS, Broken, RunResult, result_of
from tests.simulation.runs.shrinking import shrunk
from tests.simulation.world import WEIGHTS

_ENOUGH = 3
"""Broken seeds after which the report stops."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0 where every promise was kept, 1 where one was broken, 2 for a plan that is none."""
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
    result = result_of(plan, plant)
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
    for result in results_in_turn(seeds, steps, jobs, plant.name):
        totals.add(result)
        if result.broken is not None:
            broken.append((result, result.broken))
            sys.stderr.write(f"seed {result.plan.seed} broke a promise: {result.broken.detail}\n")
        if len(broken) >= enough:
            break
    _say(table_of(totals, time.monotonic() - began, jobs))
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
    """The failure with the smallest plan that breaks the same promise; that is kept in a file."""

    def breaks_the_same(plan: Plan) -> bool:
        found = result_of(plan, plant).broken
        return found is not None and found.promise == broken.promise

    smaller = result_of(shrunk(result.plan, breaks_the_same), plant)
    kept = Path(f".aex/simulation/seed-{result.plan.seed}.json")
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(smaller.plan.to_json(), encoding="utf-8")
    planted = f" PLANT={plant.name}" if plant is not NOTHING else ""
    return broken_seed(result, broken, smaller, [f"SEEDS=1 FIRST={result.plan.seed}{planted}", f"PLAN={kept}{planted}"])


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
