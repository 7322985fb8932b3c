"""Shrinking of a plan that breaks a promise, as long as it breaks the same one.

Delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002): leave out halves,
then quarters, then single steps.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.simulation.runs.plan import Plan, PlannedStep

MOST_RUNS = 250
Fails = Callable[[Plan], bool]
"""Predicate of plans that break the promise."""
_Steps = tuple[PlannedStep, ...]


@dataclass(slots=True)
class _Attempts:
    fails: Fails
    left: int

    def works(self, plan: Plan) -> bool:
        """Return whether the smaller plan fails too; False once all runs are used up."""
        if self.left <= 0:
            return False
        self.left -= 1
        return self.fails(plan)


def shrink_plan(plan: Plan, fails: Fails, most_runs: int = MOST_RUNS) -> Plan:
    """Return the smallest failing plan found within so many runs; `plan` itself is known to fail."""
    return plan.keep_only(_fewer(plan, _Attempts(fails, most_runs)))


def _fewer(plan: Plan, attempts: _Attempts) -> _Steps:
    steps, parts = plan.steps, 2
    while steps:
        smaller = next((rest for rest in _without_a_part(steps, parts) if attempts.works(plan.keep_only(rest))), None)
        if smaller is not None:
            steps, parts = smaller, max(parts - 1, 2)
        elif parts >= len(steps):
            return steps
        else:
            parts = min(parts * 2, len(steps))
    return steps


def _without_a_part(steps: _Steps, parts: int) -> Iterator[_Steps]:
    """Yield the steps without each of so many parts, the later ones first."""
    size = -(-len(steps) // parts)
    for start in reversed(range(0, len(steps), size)):
        yield steps[:start] + steps[start + size :]
