"""Values that no candidate can have."""

from collections.abc import Mapping, Sequence
from typing import Any

from aex_models.governance import Severity
from tests.benchmarks.fraud.scene import ANSWERS, ROLLOUTS, TRIAGE, Make, Scene
from tests.benchmarks.fraud.story import Attempt
from tests.benchmarks.fraud.tasks import labels_work

_FRACTIONS = ("accuracy", "precision", "recall", "f1_score", "bleu_score", "rouge1", "rouge2", "rougeL")
_TIMES = ("latency_ms", "time_to_first_byte", "processing_time")
_COUNTS = ("output_length", "word_count", "num_predictions")


def _measured(scene: Scene, metric: str, value: float | None) -> Sequence[Attempt]:
    work = scene.work(scene.random.choice([TRIAGE, ANSWERS, ROLLOUTS]))
    honest = {"precision": 0.7, "custom.score": scene.random.gauss(5, 1)}
    label = scene.fraud(Severity.CRITICAL)
    return [scene.candidate(scene.stranger(), work, {"done": True}, measured={**honest, metric: value}, label=label)]


def _above_one(scene: Scene) -> Sequence[Attempt]:
    above = scene.random.choice([1 + 10 ** scene.random.uniform(-4, 0), scene.random.uniform(2, 100), 1e9])
    return _measured(scene, scene.random.choice(_FRACTIONS), above)


def _below_zero(scene: Scene) -> Sequence[Attempt]:
    return _measured(scene, scene.random.choice(_FRACTIONS), -(10 ** scene.random.uniform(-6, 3)))


def _negative_time(scene: Scene) -> Sequence[Attempt]:
    return _measured(scene, scene.random.choice(_TIMES), -(10 ** scene.random.uniform(-3, 6)))


def _negative_count(scene: Scene) -> Sequence[Attempt]:
    return _measured(scene, scene.random.choice(_COUNTS), float(-scene.random.randint(1, 10_000)))


def _not_finite(scene: Scene) -> Sequence[Attempt]:
    return _measured(scene, scene.random.choice(["custom.score", "mean_return", *_FRACTIONS]), None)


def _reported_time(scene: Scene) -> Sequence[Attempt]:
    """As the agent says it, and the engine reads it."""
    work = scene.work(ANSWERS, ("latency_ms",))
    told = {"metadata": {"duration_ms": -scene.random.lognormvariate(6, 2)}, "platform_latency_ms": None}
    label = scene.fraud(Severity.CRITICAL)
    return [scene.candidate(scene.stranger(), work, {"text": "4"}, label=label, **told)]


def _among_honest_ones(scene: Scene) -> Sequence[Attempt]:
    work, truth = labels_work(scene, scene.random.randint(5, 40))
    more: dict[str, Any] = {"measured": {"recall": scene.random.uniform(1.01, 3)}}
    label = scene.fraud(Severity.CRITICAL)
    return [scene.candidate(scene.stranger(), work, {"predictions": truth}, label=label, **more)]


VARIANTS: Mapping[str, Make] = {
    "above one": _above_one,
    "below zero": _below_zero,
    "negative time": _negative_time,
    "negative count": _negative_count,
    "not finite": _not_finite,
    "reported time": _reported_time,
    "among honest ones": _among_honest_ones,
}
