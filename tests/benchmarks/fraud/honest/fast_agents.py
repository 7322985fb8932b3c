"""Agents that answer at once."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.benchmarks.fraud.scene import Make, Scene
from tests.benchmarks.fraud.story import Attempt
from tests.benchmarks.fraud.tasks import labels_work, prose


def _fast(scene: Scene, metadata: Mapping[str, Any], measured: float | None) -> Sequence[Attempt]:
    more: dict[str, Any] = {"metadata": metadata, "platform_latency_ms": measured}
    if scene.random.random() < 0.5:
        return [prose(scene, scene.agent(), scene.writer(), scene.words(), label=scene.honest, **more)]
    work, truth = labels_work(scene, scene.random.randint(1, 60))
    return [scene.candidate(scene.agent(), work, {"predictions": truth}, label=scene.honest, **more)]


def _milliseconds(scene: Scene) -> Sequence[Attempt]:
    duration = scene.random.uniform(1, 60)
    return _fast(scene, {"duration_ms": duration, "ttfb_ms": duration / 2}, duration + scene.random.uniform(1, 900))


def _no_time(scene: Scene) -> Sequence[Attempt]:
    """Out of a cache: zero is a time."""
    return _fast(scene, {"duration_ms": 0.0, "ttfb_ms": 0.0}, scene.random.uniform(0, 50))


def _nothing_told(scene: Scene) -> Sequence[Attempt]:
    return _fast(scene, {}, scene.random.uniform(5, 5_000))


VARIANTS: Mapping[str, Make] = {"milliseconds": _milliseconds, "no time": _no_time, "nothing told": _nothing_told}
