"""Honest figures: labels, data, claims, times, records and busy agents."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from aex_models.governance import ScienceFindings
from tests.benchmarks.fraud.fraud_figures import Draw, burst, record
from tests.benchmarks.fraud.stories import Attempt, Make, Scene, Variants, mislabel


def _equal_labels(form: Callable[[Sequence[str]], Any], least: int, most: int, wrong: float = 0.0) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        first, truth = scene.label_work(scene.random.randint(least, most))
        made = []
        for index in range(3):
            work = replace(first, work_id=f"{first.work_id}-{index}", consumer=scene.consumer())
            output = form(mislabel(scene.random, truth, wrong))
            label = scene.honest_label if index == 2 else None
            made.append(scene.candidate(scene.agent(), work, output, minutes=index * 40.0, label=label))
        return made

    return make


def _list(labels: Sequence[str]) -> Any:
    return {"predictions": list(labels)}


CLASSIFICATION: Variants = {
    "many": _equal_labels(_list, 50, 400),
    "lines": _equal_labels(lambda labels: {"text": "\n".join(labels)}, 10, 200),
    "often wrong": _equal_labels(_list, 8, 80, 0.5),
}


def _equal_data(extract: Callable[[Scene], str]) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        output = {"text": extract(scene)}
        first, second = (scene.work("documents/extraction", tag=tag) for tag in ("", "-2"))
        label = scene.honest_label
        return [
            scene.candidate(scene.agent(), first, output),
            scene.candidate(scene.agent(), second, output, minutes=600.0, label=label),
        ]

    return make


def _records(scene: Scene) -> str:
    writer = scene.writer()
    items = [{"name": writer.name(), "price": scene.random.randint(1, 900)} for _ in range(scene.random.randint(3, 30))]
    return json.dumps({"currency": "EUR", "items": items}, ensure_ascii=False, indent=scene.random.choice([None, 2]))


def program(scene: Scene) -> str:
    """Return a small program, one of many."""
    things = scene.random.sample(("orders", "rows", "events", "prices", "paths", "tokens", "edges", "frames"), 3)
    limit = scene.random.randint(2, 900)
    return (
        f"def rank_{things[0]}({things[0]}, {things[1]}=None):\n"
        f"    found = [each for each in {things[0]} if each.{things[2]} > {limit}]\n"
        f"    found.sort(key=lambda each: each.{things[1]}, reverse={bool(limit % 2)})\n    return found[:{limit}]\n"
    )


STRUCTURED: Variants = {"records": _equal_data(_records), "programs": _equal_data(program)}


def _claims(name: str, value: Draw, claim: Callable[[Random, float], float]) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        actual = value(scene.random)
        claims = {name: claim(scene.random, actual), "custom.effort": 3.0}
        return scene.honest({"done": True}, measured={name: actual}, claimed=claims, science=ScienceFindings())

    return make


CLAIMS: Variants = {
    "rounded": _claims("accuracy", lambda dice: dice.uniform(0.3, 1), lambda dice, v: round(v, dice.choice([2, 3, 4]))),
    "within 4.5 %": _claims(
        "custom.gain", lambda dice: dice.lognormvariate(0, 2), lambda dice, value: value * dice.uniform(0.955, 1.045)
    ),
    "zero": _claims("custom.loss", lambda _: 0.0, lambda _, value: value),
}


def _times(draw: Callable[[Random], tuple[float | None, float | None, float | None]]) -> Make:
    """Return a maker for duration, first byte and measured time in ms."""

    def make(scene: Scene) -> Sequence[Attempt]:
        duration, first_byte, measured = draw(scene.random)
        times = {"duration_ms": duration, "ttfb_ms": first_byte}
        metadata = {name: value for name, value in times.items() if value is not None}
        work, truth = scene.label_work(scene.random.randint(1, 60))
        return scene.honest({"predictions": truth}, work, metadata=metadata, platform_latency_ms=measured)

    return make


def _slow(random: Random) -> tuple[float, float, float]:
    duration = random.uniform(1, 30) * 3_600_000
    return duration, duration * 0.9, duration * random.uniform(1, 3)


def _within_slack(random: Random) -> tuple[float, None, float]:
    duration = random.lognormvariate(9, 1)
    return duration + random.uniform(0, 950), None, duration


TIMES: Variants = {
    "fast": _times(lambda dice: (dice.uniform(1, 60), 0.5, 60 + dice.uniform(1, 900))),
    "hours": _times(_slow),
    "within the slack": _times(_within_slack),
    "not measured": _times(lambda dice: (dice.lognormvariate(11, 1), None, None)),
}


def _record(metric: str, draw: Callable[[Random], tuple[Draw, float]], *, is_own: bool = True) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        usual, last = draw(scene.random)
        *before, final = record(scene, metric, usual, last, is_own=is_own)
        return [*before, replace(final, label=scene.honest_label)]

    return make


def _spread(random: Random) -> tuple[Draw, float]:
    level, width = random.uniform(3, 9), random.uniform(0.3, 1.0)
    return lambda dice: dice.lognormvariate(level, width), random.lognormvariate(level, width)


def _better(random: Random) -> tuple[Draw, float]:
    level = random.uniform(0.55, 0.8)
    return lambda dice: dice.gauss(level, 0.03), level * 1.1


def _steady(random: Random) -> float:
    return min(random.gauss(0.9, 0.012), 1.0)


RECORDS: Variants = {
    "steady": _record("accuracy", lambda random: (_steady, _steady(random))),
    "spread": _record("custom.spread", _spread),
    "better": _record("f1_score", _better),
    "mostly perfect": _record("accuracy", lambda _: (lambda dice: 1.0 if dice.random() < 0.9 else 0.9, 0.9)),
    "newcomer": _record("custom.cost", _spread, is_own=False),
}


def _busy(minutes: float, consumers: int) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        *before, last = burst(scene, scene.random.randint(20, 60), minutes, consumers)
        return [*before, replace(last, label=scene.honest_label)]

    return make


BUSY: Variants = {"many consumers": _busy(60, 15), "one consumer": _busy(60, 1)}
