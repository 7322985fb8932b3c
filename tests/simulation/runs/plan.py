"""Plan of a run as data: drawn from its seed, printed, read again, shrunk."""

import json
import random
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Self

_SEED_BITS = 48
"""Few enough for every reader of JSON."""
_TOGETHER = 0.15
"""Probability that several actions run at once."""
_MOST_AT_ONCE = 5


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """An action with its own dice, which other actions do not influence."""

    action: str
    seed: int
    moment: int
    """Moment of the action; actions of one moment run at once."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Every action of a run; the same plan gives the same run."""

    seed: int
    steps: tuple[PlannedStep, ...]

    @classmethod
    def draw(cls, seed: int, steps: int, weights: Mapping[str, float]) -> Self:
        """Draw a random plan of at least `steps` steps; a few more if the last ones are concurrent."""
        dice = random.Random(seed)
        names, shares = list(weights), list(weights.values())
        drawn: list[PlannedStep] = []
        moment = 0
        while len(drawn) < steps:
            at_once = dice.randint(2, _MOST_AT_ONCE) if dice.random() < _TOGETHER else 1
            actions = dice.choices(names, shares, k=at_once)
            drawn.extend(PlannedStep(action, dice.getrandbits(_SEED_BITS), moment) for action in actions)
            moment += 1
        return cls(seed, tuple(drawn))

    @classmethod
    def from_json(cls, text: str, known: Container[str]) -> Self:
        """Parse the text that `to_json` wrote. Raises `ValueError` for another text or an unknown action."""
        try:
            written = json.loads(text)
            plan = cls(int(written["seed"]), tuple(PlannedStep(**each) for each in written["steps"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"this is no plan: {error}") from error
        unknown = sorted({step.action for step in plan.steps if step.action not in known})
        if unknown:
            raise ValueError(f"there are no such actions: {', '.join(unknown)}")
        return plan

    def to_json(self) -> str:
        """Return the plan as JSON with one line for each step, so that a person can remove steps."""
        steps = ",\n".join(json.dumps(asdict(step)) for step in self.steps)
        return f'{{"seed": {self.seed}, "steps": [\n{steps}\n]}}\n'

    def moments(self) -> Iterator[tuple[PlannedStep, ...]]:
        """Yield the steps in order; concurrent steps come as one group."""
        for _, together in groupby(self.steps, lambda step: step.moment):
            yield tuple(together)

    def keep_only(self, steps: Sequence[PlannedStep]) -> "Plan":
        """Return the plan with only these steps."""
        return Plan(self.seed, tuple(steps))
