"""A value far from everything that came before, by the agent or by everybody in the domain.

Far by any measure: ten and more standard deviations off, on the scale of the values and on that of their logarithms.
"""

from collections.abc import Callable, Mapping, Sequence
from math import exp
from random import Random

from aex_models.governance import Party, Severity
from tests.benchmarks.fraud.scene import Make, Scene
from tests.benchmarks.fraud.story import Attempt

Draw = Callable[[Random], float]


def _story(scene: Scene, metric: str, usual: Draw, odd: float, *, own: bool = True) -> Sequence[Attempt]:
    """24 to 40 attempts with usual values, then the odd one."""
    work = scene.work(f"domain/{scene.key.replace('/', '-')}")
    agent = scene.stranger()
    before = []
    for place in range(scene.random.randint(24, 40)):
        who = agent if own else Party(id=f"{agent.id}-{place % 9}")
        value = usual(scene.random)
        before.append(scene.candidate(who, work, {"run": place}, minutes=place * 97.0, measured={metric: value}))
    label = scene.fraud(Severity.MINOR)
    last = scene.candidate(agent, work, {"run": "last"}, minutes=6_000.0, measured={metric: odd}, label=label)
    return [*before, last]


def _steady(scene: Scene) -> Sequence[Attempt]:
    """Good and steady, then far below."""
    level = scene.random.uniform(0.85, 0.95)
    odd = scene.random.uniform(0.02, 0.25)
    return _story(scene, "custom.quality", lambda dice: min(dice.gauss(level, 0.01), 1.0), odd)


def _suddenly_good(scene: Scene) -> Sequence[Attempt]:
    level = scene.random.uniform(0.1, 0.2)
    odd = scene.random.uniform(0.93, 1.0)
    return _story(scene, "accuracy", lambda dice: max(dice.gauss(level, level / 12), 0.0), odd)


def _skewed(scene: Scene) -> Sequence[Attempt]:
    """Times have long tails; this is farther."""
    middle, width = scene.random.uniform(6, 10), scene.random.uniform(0.15, 0.35)
    odd = exp(middle + width * scene.random.uniform(11, 18))
    return _story(scene, "custom.spread", lambda dice: dice.lognormvariate(middle, width), odd)


def _counts(scene: Scene) -> Sequence[Attempt]:
    middle = scene.random.randint(60, 400)
    odd = float(middle * scene.random.randint(12, 60))
    return _story(scene, "num_steps", lambda dice: float(round(dice.gauss(middle, middle**0.5))), odd)


def _of_either_sign(scene: Scene) -> Sequence[Attempt]:
    """Returns around zero."""
    width = 10 ** scene.random.uniform(-1, 2)
    odd = scene.random.choice([1, -1]) * width * scene.random.uniform(2_000, 9_000)
    return _story(scene, "mean_return", lambda dice: dice.gauss(-20 * width, width), odd)


def _all_the_same(scene: Scene) -> Sequence[Attempt]:
    level = scene.random.choice([1.0, 0.5, 40.0])
    return _story(scene, "custom.level", lambda _: level, level * scene.random.choice([0.05, 9.0]))


def _large(scene: Scene) -> Sequence[Attempt]:
    odd = scene.random.choice([2e3, 4e8]) * scene.random.uniform(0.5, 2)
    return _story(scene, "custom.revenue", lambda dice: dice.gauss(1e6, 4e4), odd)


def _newcomer(scene: Scene) -> Sequence[Attempt]:
    """Nothing is known of the agent, much of the domain."""
    level = scene.random.uniform(200, 900)
    odd = level * scene.random.uniform(25, 200)
    return _story(scene, "custom.cost", lambda dice: dice.lognormvariate(0, 0.2) * level, odd, own=False)


VARIANTS: Mapping[str, Make] = {
    "steady, then bad": _steady,
    "suddenly good": _suddenly_good,
    "skewed": _skewed,
    "counts": _counts,
    "of either sign": _of_either_sign,
    "all the same": _all_the_same,
    "large": _large,
    "newcomer": _newcomer,
}
