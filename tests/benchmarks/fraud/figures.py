"""Figures, fraudulent and honest: metrics, claims, times and parties."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any

from aex_models.governance import ScienceFindings, Severity
from tests.benchmarks.fraud.stories import Attempt, Scene, Variants

MINOR, MAJOR, CRITICAL = Severity.MINOR, Severity.MAJOR, Severity.CRITICAL
FRACTIONS = ("accuracy", "recall", "f1_score", "bleu_score", "rouge1", "rougeL")
Draw = Callable[[Random], float]


def _measured(names: Sequence[str], draw: Callable[[Random], float | None], scene: Scene) -> list[Attempt]:
    metrics = {"precision": 0.7, "custom.score": scene.random.gauss(5, 1)}
    metric = {scene.random.choice(names): draw(scene.random)}
    return scene.single(CRITICAL, {"done": True}, measured=metrics | metric)


OUT_OF_BOUNDS: Variants = {
    "above one": partial(_measured, FRACTIONS, lambda dice: dice.choice([1 + 10 ** dice.uniform(-4, 0), 1e9])),
    "below zero": partial(_measured, FRACTIONS, lambda dice: -(10 ** dice.uniform(-6, 3))),
    "negative time": partial(_measured, ("latency_ms", "processing_time"), lambda dice: -(10 ** dice.uniform(-3, 6))),
    "not finite": partial(_measured, ("custom.score", *FRACTIONS), lambda _: None),
}


def _claim(severity: Severity, factor: Draw, scene: Scene, *, is_signed: bool = False) -> list[Attempt]:
    dice = scene.random
    name, value = dice.choice(["accuracy", "rougeL"]), dice.uniform(0.05, 0.5)
    if is_signed or dice.random() < 0.4:
        name, value = "mean_return", dice.lognormvariate(0, 4) * dice.choice([1, -1])
    claims = {name: value * factor(dice), "recall": 0.8}
    return scene.single(severity, {"done": True}, measured={name: value, "recall": 0.8}, claimed=claims)


METRIC_MISMATCH: Variants = {
    "5 to 20 %": partial(_claim, MINOR, lambda dice: 1 + dice.uniform(0.055, 0.195) * dice.choice([1, -1])),
    "above 20 %": partial(
        _claim, MAJOR, lambda dice: dice.choice([dice.uniform(1.22, 1.95), dice.uniform(0.52, 0.79)])
    ),
    "factor of two": partial(
        _claim, CRITICAL, lambda dice: dice.choice([dice.uniform(2.02, 50), dice.uniform(0.01, 0.49)])
    ),
    "changed sign": partial(_claim, CRITICAL, lambda dice: -dice.uniform(0.5, 1.5), is_signed=True),
}


def _honest_claim(draw: Callable[[Random], tuple[float, float]], scene: Scene) -> list[Attempt]:
    value, claim = draw(scene.random)
    claims = {"custom.gain": claim, "custom.effort": 3.0}
    return scene.single(
        None, {"done": True}, measured={"custom.gain": value}, claimed=claims, science=ScienceFindings()
    )


CLAIMS: Variants = {
    "rounded": partial(_honest_claim, lambda dice: (value := dice.uniform(0.3, 1), round(value, 2))),
    "within 4.5 %": partial(
        _honest_claim, lambda dice: (value := dice.lognormvariate(0, 2), value * dice.uniform(0.955, 1.045))
    ),
    "zero": partial(_honest_claim, lambda _: (0.0, 0.0)),
}
_ERRORS = {MINOR: (0.011, 0.05), MAJOR: (0.051, 0.5), CRITICAL: (0.51, 40.0)}


def _mismatches(severities: Sequence[Severity], scene: Scene) -> list[Attempt]:
    dice, found = scene.random, list[dict[str, Any]]()
    for number, severity in enumerate(severities):
        value, error = dice.lognormvariate(0, 3) * dice.choice([1, -1]), dice.uniform(*_ERRORS[severity])
        figures = {"claimed": value * (1 + error * dice.choice([1, -1])), "recomputed": value, "relative_error": error}
        found.append({"name": f"figure_{number}", **figures, "severity": severity.value})
    dice.shuffle(found)
    return scene.single(severities[-1], {"text": "done"}, science=ScienceFindings(mismatches=tuple(found)))


VALUE_MISMATCH: Variants = {
    "minor": partial(_mismatches, [MINOR]),
    "major": partial(_mismatches, [MAJOR]),
    "critical": partial(_mismatches, [CRITICAL]),
    "all": partial(_mismatches, [MINOR, MINOR, MAJOR, CRITICAL]),
}


def _violations(as_text: bool, scene: Scene) -> list[Attempt]:
    values = [scene.random.choice([2 + scene.random.lognormvariate(0, 2), -9.0]) for _ in range(3)]
    found = [{"name": "mean_fitness", "value": value, "min": -5.0, "max": 2.0} for value in values]
    texts = [f"mean_fitness = {value:g} is not within -5..2" for value in values]
    science = ScienceFindings(violations=tuple(texts if as_text else found)[: scene.random.randint(1, 3)])
    return scene.single(CRITICAL, {"done": True}, scene.work("bioinformatics/DMS"), science=science)


DOMAIN_VIOLATION: Variants = {"objects": partial(_violations, False), "texts": partial(_violations, True)}
Times = tuple[float | None, float | None, float | None]
"""Duration, first byte and measured time in ms."""


def _times(severity: Severity | None, draw: Callable[[Random], Times], scene: Scene) -> list[Attempt]:
    duration, first_byte, measured = draw(scene.random)
    times = {"duration_ms": duration, "ttfb_ms": first_byte}
    metadata = {name: value for name, value in times.items() if value is not None}
    work, truth = scene.label_work(scene.random.randint(1, 60))
    return scene.single(severity, {"predictions": truth}, work, metadata=metadata, platform_latency_ms=measured)


def _longer(dice: Random) -> Times:
    measured = dice.lognormvariate(8, 1.2)
    return measured + 1_000 + dice.choice([dice.uniform(2, 500), measured * dice.uniform(0, 100)]), None, measured


def _late_first_byte(dice: Random) -> Times:
    duration = dice.lognormvariate(7, 1)
    return duration, duration * dice.uniform(1.02, 30) + 1, dice.choice([None, duration * 50 + 60_000])


def _within_slack(dice: Random) -> Times:
    duration = dice.lognormvariate(9, 1)
    return duration + dice.uniform(0, 950), None, duration


LATENCY: Variants = {
    "longer than measured": partial(_times, MAJOR, _longer),
    "late first byte": partial(_times, MAJOR, _late_first_byte),
}
TIMES: Variants = {
    "fast": partial(_times, None, lambda dice: (dice.uniform(1, 60), 0.5, 60 + dice.uniform(1, 900))),
    "within the slack": partial(_times, None, _within_slack),
    "not measured": partial(_times, None, lambda dice: (dice.lognormvariate(11, 1), None, None)),
}


def _deal(agent: Mapping[str, str], consumer: Mapping[str, str], scene: Scene) -> list[Attempt]:
    parties = [scene.new_agent(each["id"]).model_copy(update={"org": each.get("org")}) for each in (agent, consumer)]
    work, truth = scene.label_work(scene.random.randint(1, 60), consumer=parties[1])
    return [scene.candidate(parties[0], work, {"predictions": truth}, label=scene.label(CRITICAL))]


SELF_DEALING: Variants = {
    "one principal": partial(_deal, {"id": "both"}, {"id": "both"}),
    "two organisations": partial(_deal, {"id": "both", "org": "left"}, {"id": "both", "org": "right"}),
    "one organisation": partial(_deal, {"id": "bot", "org": "acme"}, {"id": "buyer", "org": "acme"}),
}
