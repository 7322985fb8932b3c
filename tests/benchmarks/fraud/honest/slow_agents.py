"""Agents that take their time, and say so."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.benchmarks.fraud.scene import Make, Scene
from tests.benchmarks.fraud.story import Attempt
from tests.benchmarks.fraud.tasks import labels_work, prose


def _slow(scene: Scene, duration: float, told: Mapping[str, Any], measured: float | None) -> Sequence[Attempt]:
    more: dict[str, Any] = {"metadata": {"duration_ms": duration, **told}, "platform_latency_ms": measured}
    if scene.random.random() < 0.5:
        return [prose(scene, scene.agent(), scene.writer(), scene.words(), label=scene.honest, **more)]
    work, truth = labels_work(scene, scene.random.randint(1, 60))
    return [scene.candidate(scene.agent(), work, {"predictions": truth}, label=scene.honest, **more)]


def _minutes(scene: Scene) -> Sequence[Attempt]:
    duration = scene.random.uniform(30_000, 120_000)
    return _slow(scene, duration, {"ttfb_ms": duration * 0.9}, duration + 300)


def _hours(scene: Scene) -> Sequence[Attempt]:
    duration = scene.random.uniform(1, 30) * 3_600_000
    return _slow(scene, duration, {}, duration * scene.random.uniform(1, 3))


def _within_the_slack(scene: Scene) -> Sequence[Attempt]:
    """Clocks differ: a little more than the platform measured."""
    duration = scene.random.lognormvariate(9, 1)
    return _slow(scene, duration + scene.random.uniform(0, 950), {}, duration)


def _first_byte_last(scene: Scene) -> Sequence[Attempt]:
    """Everything comes at once, at the end."""
    duration = scene.random.lognormvariate(9, 1)
    return _slow(scene, duration, {"ttfb_ms": duration}, duration)


def _unmeasured(scene: Scene) -> Sequence[Attempt]:
    return _slow(scene, scene.random.lognormvariate(11, 1), {}, None)


VARIANTS: Mapping[str, Make] = {
    "minutes": _minutes,
    "hours": _hours,
    "within the slack": _within_the_slack,
    "first byte last": _first_byte_last,
    "unmeasured": _unmeasured,
}
