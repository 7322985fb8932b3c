"""Agents with a record: skilled and steady, of varying luck, getting better, new, or simply bad at it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random

from aex_models.governance import Party
from tests.benchmarks.fraud.scene import Make, Scene
from tests.benchmarks.fraud.story import Attempt

Draw = Callable[[Random], float]


def _story(scene: Scene, metric: str, draw: Draw, last: Draw | None = None, *, own: bool = True) -> Sequence[Attempt]:
    """24 to 40 attempts, and one more of the same kind (or of the kind of `last`)."""
    work = scene.work(f"domain/{scene.key.replace('/', '-')}")
    agent, count = scene.stranger(), scene.random.randint(24, 40)
    made = []
    for place in range(count + 1):
        who = agent if own or place == count else Party(id=f"{agent.id}-{place % 9}")
        value = (last or draw if place == count else draw)(scene.random)
        made.append(scene.candidate(who, work, {"run": place}, minutes=place * 97.0, measured={metric: value}))
    return [*made[:-1], replace(made[-1], label=scene.honest)]


def _steady(scene: Scene) -> Sequence[Attempt]:
    level = scene.random.uniform(0.85, 0.97)
    return _story(scene, "accuracy", lambda dice: min(dice.gauss(level, 0.012), 1.0))


def _spread(scene: Scene) -> Sequence[Attempt]:
    level, width = scene.random.uniform(3, 9), scene.random.uniform(0.3, 1.0)
    return _story(scene, "custom.spread", lambda dice: dice.lognormvariate(level, width))


def _returns(scene: Scene) -> Sequence[Attempt]:
    """Around zero, of either sign."""
    width = 10 ** scene.random.uniform(-1, 3)
    return _story(scene, "mean_return", lambda dice: dice.gauss(0, width))


def _better(scene: Scene) -> Sequence[Attempt]:
    """One of those jumps that learning makes: a tenth up."""
    level = scene.random.uniform(0.55, 0.8)
    return _story(scene, "f1_score", lambda dice: dice.gauss(level, 0.03), lambda _: level * 1.1)


def _mostly_perfect(scene: Scene) -> Sequence[Attempt]:
    """All right but now and then; this time one of ten is wrong."""
    return _story(scene, "accuracy", lambda dice: 1.0 if dice.random() < 0.9 else 0.9, lambda _: 0.9)


def _hit_or_miss(scene: Scene) -> Sequence[Attempt]:
    """All or nothing, and nothing this time."""
    return _story(scene, "custom.solved", lambda dice: float(dice.random() < 0.6), lambda _: 0.0)


def _newcomer(scene: Scene) -> Sequence[Attempt]:
    level = scene.random.uniform(2, 900)
    return _story(scene, "custom.cost", lambda dice: dice.lognormvariate(0, 0.4) * level, own=False)


def _first_ever(scene: Scene) -> Sequence[Attempt]:
    """Nothing is known yet: no value is odd."""
    work = scene.work(f"domain/{scene.key.replace('/', '-')}")
    measured = {"custom.level": scene.random.choice([0.0, 1e9, -3.0, 0.5])}
    return [scene.candidate(scene.stranger(), work, {"run": 1}, measured=measured, label=scene.honest)]


VARIANTS: Mapping[str, Make] = {
    "steady": _steady,
    "spread": _spread,
    "returns": _returns,
    "better": _better,
    "mostly perfect": _mostly_perfect,
    "hit or miss": _hit_or_miss,
    "newcomer": _newcomer,
    "first ever": _first_ever,
}
