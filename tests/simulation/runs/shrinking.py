"""Shrinking of a plan that breaks a promise, as long as it breaks the same one.

Delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002): leave out halves,
then quarters, then single steps. At the end, remaining concurrent actions are made sequential.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

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


def shrunk(plan: Plan, fails: Fails, most_runs: int = MOST_RUNS) -> Plan:
    """Return the smallest failing plan found within so many runs; `plan` itself is known to fail."""
    attempts = _Attempts(fails, most_runs)
    steps = _fewer(plan, attempts)
    return plan.only(_one_after_the_other(plan.only(steps), attempts))


def _fewer(plan: Plan, attempts: _Attempts) -> _Steps:
    steps, parts = plan.steps, 2
    while steps:
        smaller = next((rest for rest in _without_a_part(steps, parts) if attempts.works(plan.only(rest))), None)
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


def _one_after_the_other(plan: Plan, attempts: _Attempts) -> Sequence[PlannedStep]:
    """The same steps, of which fewer happen at once."""
    steps = plan.steps
    for moment in sorted({each.moment for each in steps}):
        apart = _apart(steps, moment)
        if apart != steps and attempts.works(plan.only(apart)):
            steps = apart
    return steps


def _apart(steps: _Steps, moment: int) -> _Steps:
    """Each step of that moment in one of its own, in their order; what comes later moves on."""
    together = sum(each.moment == moment for each in steps)
    if together < 2:
        return steps
    moved: list[PlannedStep] = []
    for each in steps:
        if each.moment == moment:
            moved.append(replace(each, moment=moment + sum(other.moment >= moment for other in moved)))
        else:
            moved.append(replace(each, moment=each.moment + (together - 1) * (each.moment > moment)))
    return tuple(moved)
