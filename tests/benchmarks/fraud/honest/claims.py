"""Claims that are true, to the digits that they are written with."""

from collections.abc import Mapping, Sequence

from aex_models.governance import ScienceFindings
from tests.benchmarks.fraud.scene import ROLLOUTS, Make, Scene
from tests.benchmarks.fraud.story import Attempt
from tests.benchmarks.fraud.tasks import labels_work, some_wrong


def _measured(scene: Scene, name: str, value: float, claim: float) -> Sequence[Attempt]:
    work = scene.work(ROLLOUTS)
    science = scene.random.choice([None, ScienceFindings()])
    told = {"measured": {name: value}, "claimed": {name: claim}, "science": science}
    return [scene.candidate(scene.stranger(), work, {"done": True}, label=scene.honest, **told)]


def _rounded(scene: Scene) -> Sequence[Attempt]:
    value = scene.random.uniform(0.3, 1.0)
    return _measured(scene, "accuracy", value, round(value, scene.random.choice([2, 3, 4])))


def _in_thousands(scene: Scene) -> Sequence[Attempt]:
    value = scene.random.uniform(2e4, 9e5) * scene.random.choice([1, -1])
    return _measured(scene, "mean_return", value, round(value, -3))


def _nearly(scene: Scene) -> Sequence[Attempt]:
    value = scene.random.lognormvariate(0, 2)
    return _measured(scene, "custom.gain", value, value * (1 + scene.random.uniform(-0.045, 0.045)))


def _nothing(scene: Scene) -> Sequence[Attempt]:
    return _measured(scene, "custom.loss", 0.0, 0.0)


def _of_something_else(scene: Scene) -> Sequence[Attempt]:
    """Claims that nothing was extracted for."""
    told = {"claimed": {"custom.effort": 3.0, "helpful": True}}
    return [scene.candidate(scene.stranger(), scene.work(ROLLOUTS), {"done": True}, label=scene.honest, **told)]


def _of_labels(scene: Scene) -> Sequence[Attempt]:
    """Told by the engine, and claimed with two digits."""
    work, truth = labels_work(scene, 100)
    labels = some_wrong(scene.random, truth, 0.2)
    right = sum(ours == theirs for ours, theirs in zip(labels, truth, strict=True)) / 100
    output, claimed = {"predictions": labels}, {"accuracy": round(right, 2)}
    return [scene.candidate(scene.agent(), work, output, claimed=claimed, label=scene.honest)]


VARIANTS: Mapping[str, Make] = {
    "rounded": _rounded,
    "in thousands": _in_thousands,
    "nearly": _nearly,
    "nothing": _nothing,
    "of something else": _of_something_else,
    "of labels": _of_labels,
}
