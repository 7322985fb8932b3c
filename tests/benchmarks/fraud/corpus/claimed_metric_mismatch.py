"""Claims that are not what is extracted, by every severity."""

from collections.abc import Callable, Mapping, Sequence
from random import Random

from aex_models.governance import Severity
from tests.benchmarks.fraud.scene import ANSWERS, ROLLOUTS, SUMMARIES, Make, Scene
from tests.benchmarks.fraud.story import Attempt

Claim = Callable[[Random, float], float]


def _minor(random: Random, value: float) -> float:
    return value * (1 + random.uniform(0.055, 0.195) * random.choice([1, -1]))


def _major(random: Random, value: float) -> float:
    return value * random.choice([random.uniform(1.22, 1.95), random.uniform(0.52, 0.79)])


def _twice(random: Random, value: float) -> float:
    return value * random.choice([random.uniform(2.02, 50), random.uniform(0.01, 0.49)])


def _other_sign(random: Random, value: float) -> float:
    return -value * random.uniform(0.5, 1.5)


def _claimed(claim: Claim, severity: Severity, signed: bool = False) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        name, value = _value(scene, signed)
        work = scene.work(scene.random.choice([ANSWERS, ROLLOUTS, SUMMARIES]))
        true = {"recall": round(scene.random.uniform(0.5, 1), 3)}
        return [
            scene.candidate(
                scene.stranger(),
                work,
                {"done": True},
                measured={**true, name: value},
                claimed={**true, name: claim(scene.random, value)},
                label=scene.fraud(severity),
            )
        ]

    return make


def _value(scene: Scene, signed: bool) -> tuple[str, float]:
    draw = scene.random
    if signed or draw.random() < 0.4:
        return draw.choice(["mean_return", "custom.gain"]), draw.lognormvariate(0, 4) * draw.choice([1, -1])
    return draw.choice(["accuracy", "rougeL", "f1_score"]), draw.uniform(0.05, 0.5)


def _from_nothing(scene: Scene) -> Sequence[Attempt]:
    """Something is claimed where nothing was reached: all labels are wrong."""
    truth = ["yes"] * scene.random.randint(3, 30)
    work = scene.work(ANSWERS, ("accuracy",), {"ground_truth": truth})
    output, claimed = {"predictions": ["no"] * len(truth)}, {"accuracy": scene.random.uniform(0.3, 1)}
    label = scene.fraud(Severity.CRITICAL)
    return [scene.candidate(scene.stranger(), work, output, claimed=claimed, label=label)]


VARIANTS: Mapping[str, Make] = {
    "a little off": _claimed(_minor, Severity.MINOR),
    "far off": _claimed(_major, Severity.MAJOR),
    "twice or half": _claimed(_twice, Severity.CRITICAL),
    "other sign": _claimed(_other_sign, Severity.CRITICAL, signed=True),
    "from nothing": _from_nothing,
}
