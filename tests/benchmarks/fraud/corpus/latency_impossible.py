"""Times that cannot be."""

from collections.abc import Mapping, Sequence
from typing import Any

from aex_models.governance import Severity
from tests.benchmarks.fraud.scene import Make, Scene
from tests.benchmarks.fraud.story import Attempt
from tests.benchmarks.fraud.tasks import labels_work

_SLACK_MS = 1_000


def _told(scene: Scene, metadata: Mapping[str, Any], measured: float | None) -> Sequence[Attempt]:
    work, truth = labels_work(scene, scene.random.randint(1, 40))
    label = scene.fraud(Severity.MAJOR)
    told = {"metadata": metadata, "platform_latency_ms": measured}
    return [scene.candidate(scene.stranger(), work, {"predictions": truth}, label=label, **told)]


def _longer_than_measured(scene: Scene) -> Sequence[Attempt]:
    measured = scene.random.lognormvariate(8, 1.2)
    return _told(scene, {"duration_ms": measured * scene.random.uniform(1.2, 100) + _SLACK_MS}, measured)


def _just_longer(scene: Scene) -> Sequence[Attempt]:
    measured = scene.random.lognormvariate(8, 1.2)
    return _told(scene, {"duration_ms": measured + _SLACK_MS + scene.random.uniform(2, 500)}, measured)


def _longer_than_no_time(scene: Scene) -> Sequence[Attempt]:
    return _told(scene, {"duration_ms": scene.random.uniform(1_100, 1e7), "ttfb_ms": 12.0}, 0.0)


def _first_byte_after_the_last(scene: Scene) -> Sequence[Attempt]:
    duration = scene.random.lognormvariate(7, 1)
    told = {"duration_ms": duration, "ttfb_ms": duration * scene.random.uniform(1.02, 30) + 1}
    return _told(scene, told, scene.random.choice([None, duration * 50 + 60_000]))


VARIANTS: Mapping[str, Make] = {
    "longer than measured": _longer_than_measured,
    "just longer": _just_longer,
    "longer than no time at all": _longer_than_no_time,
    "first byte after the last": _first_byte_after_the_last,
}
