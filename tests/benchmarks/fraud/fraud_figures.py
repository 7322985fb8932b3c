"""Fraud in figures: metrics, claims, times, parties, histories and bursts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from aex_models.governance import Party, ScienceFindings, Severity
from tests.benchmarks.fraud.stories import CLASSES, Attempt, Make, Scene, Variants

MINOR, MAJOR, CRITICAL = Severity.MINOR, Severity.MAJOR, Severity.CRITICAL
FRACTIONS = ("accuracy", "recall", "f1_score", "bleu_score", "rouge1", "rougeL")
Draw = Callable[[Random], float]


def _measured(names: Sequence[str], draw: Callable[[Random], float | None]) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        metrics = {"precision": 0.7, "custom.score": scene.random.gauss(5, 1)}
        metric = {scene.random.choice(names): draw(scene.random)}
        return scene.fraud(CRITICAL, {"done": True}, measured=metrics | metric)

    return make


def _negative_reported_time(scene: Scene) -> Sequence[Attempt]:
    metadata = {"duration_ms": -scene.random.lognormvariate(6, 2)}
    work = scene.work(metrics=("latency_ms",))
    return scene.fraud(CRITICAL, {"text": "4"}, work, metadata=metadata, platform_latency_ms=None)


OUT_OF_BOUNDS: Variants = {
    "above one": _measured(FRACTIONS, lambda dice: dice.choice([1 + 10 ** dice.uniform(-4, 0), 1e9])),
    "below zero": _measured(FRACTIONS, lambda dice: -(10 ** dice.uniform(-6, 3))),
    "negative time": _measured(("latency_ms", "processing_time"), lambda dice: -(10 ** dice.uniform(-3, 6))),
    "not finite": _measured(("custom.score", *FRACTIONS), lambda _: None),
    "reported time": _negative_reported_time,
}


def _claim(severity: Severity, factor: Draw, *, is_signed: bool = False) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        dice = scene.random
        name, value = dice.choice(["accuracy", "rougeL"]), dice.uniform(0.05, 0.5)
        if is_signed or dice.random() < 0.4:
            name, value = "mean_return", dice.lognormvariate(0, 4) * dice.choice([1, -1])
        claims = {name: value * factor(dice), "recall": 0.8}
        return scene.fraud(severity, {"done": True}, measured={name: value, "recall": 0.8}, claimed=claims)

    return make


METRIC_MISMATCH: Variants = {
    "5 to 20 %": _claim(MINOR, lambda dice: 1 + dice.uniform(0.055, 0.195) * dice.choice([1, -1])),
    "above 20 %": _claim(MAJOR, lambda dice: dice.choice([dice.uniform(1.22, 1.95), dice.uniform(0.52, 0.79)])),
    "factor of two": _claim(CRITICAL, lambda dice: dice.choice([dice.uniform(2.02, 50), dice.uniform(0.01, 0.49)])),
    "changed sign": _claim(CRITICAL, lambda dice: -dice.uniform(0.5, 1.5), is_signed=True),
}
_ERRORS = {MINOR: (0.011, 0.05), MAJOR: (0.051, 0.5), CRITICAL: (0.51, 40.0)}


def _mismatches(*severities: Severity) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        found = [_mismatch(scene.random, f"figure_{n}", each) for n, each in enumerate(severities)]
        scene.random.shuffle(found)
        return scene.fraud(severities[-1], {"text": "done"}, science=ScienceFindings(mismatches=tuple(found)))

    return make


def _mismatch(dice: Random, name: str, severity: Severity) -> dict[str, Any]:
    value, error = dice.lognormvariate(0, 3) * dice.choice([1, -1]), dice.uniform(*_ERRORS[severity])
    claimed = value * (1 + error * dice.choice([1, -1]))
    figures = {"claimed": claimed, "recomputed": value, "relative_error": error}
    return {"name": name, **figures, "severity": severity.value}


VALUE_MISMATCH: Variants = {
    "minor": _mismatches(MINOR),
    "major": _mismatches(MAJOR),
    "critical": _mismatches(CRITICAL),
    "all": _mismatches(MINOR, MINOR, MAJOR, CRITICAL),
}


def _violations(as_text: bool) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        values = [scene.random.choice([2 + scene.random.lognormvariate(0, 2), -9.0]) for _ in range(3)]
        found = [{"name": "mean_fitness", "value": value, "min": -5.0, "max": 2.0} for value in values]
        texts = [f"mean_fitness = {value:g} is not within -5..2" for value in values]
        science = ScienceFindings(violations=tuple(texts if as_text else found)[: scene.random.randint(1, 3)])
        return scene.fraud(CRITICAL, {"done": True}, scene.work("bioinformatics/DMS"), science=science)

    return make


DOMAIN_VIOLATION: Variants = {"objects": _violations(False), "texts": _violations(True)}


def _times(draw: Callable[[Random], tuple[dict[str, float], float | None]]) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        metadata, measured = draw(scene.random)
        return scene.fraud(MAJOR, {"predictions": ["a"]}, metadata=metadata, platform_latency_ms=measured)

    return make


def _longer(dice: Random) -> tuple[dict[str, float], float | None]:
    measured = dice.lognormvariate(8, 1.2)
    return {
        "duration_ms": measured + 1_000 + dice.choice([dice.uniform(2, 500), measured * dice.uniform(0, 100)])
    }, measured


def _late_first_byte(dice: Random) -> tuple[dict[str, float], float | None]:
    duration = dice.lognormvariate(7, 1)
    times = {"duration_ms": duration, "ttfb_ms": duration * dice.uniform(1.02, 30) + 1}
    return times, dice.choice([None, duration * 50 + 60_000])


LATENCY: Variants = {"longer than measured": _times(_longer), "late first byte": _times(_late_first_byte)}


def _deal(agent: Mapping[str, str], consumer: Mapping[str, str]) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        parties = [
            scene.new_agent(each["id"]).model_copy(update={"org": each.get("org")}) for each in (agent, consumer)
        ]
        work, truth = scene.label_work(scene.random.randint(1, 60), consumer=parties[1])
        return [scene.candidate(parties[0], work, {"predictions": truth}, label=scene.fraud_label(CRITICAL))]

    return make


SELF_DEALING: Variants = {
    "one principal": _deal({"id": "both"}, {"id": "both"}),
    "two organisations": _deal({"id": "both", "org": "left"}, {"id": "both", "org": "right"}),
    "one organisation": _deal({"id": "bot", "org": "acme"}, {"id": "buyer", "org": "acme"}),
}


def record(scene: Scene, metric: str, usual: Draw, last: float, *, is_own: bool = True) -> list[Attempt]:
    """Return 24 to 40 attempts with usual values and a last one, of one agent or of several."""
    work, agent = scene.work(f"domain/{scene.key.replace('/', '-')}"), scene.new_agent()
    count = scene.random.randint(24, 40)
    made = []
    for index in range(count + 1):
        author = agent if is_own or index == count else Party(id=f"{agent.id}-{index % 9}")
        value = last if index == count else usual(scene.random)
        made.append(scene.candidate(author, work, {"run": index}, minutes=index * 97.0, measured={metric: value}))
    return made


def _outlier(metric: str, draw: Callable[[Random], tuple[Draw, float]], *, is_own: bool = True) -> Make:
    def make(scene: Scene) -> Sequence[Attempt]:
        usual, last = draw(scene.random)
        *before, outlier = record(scene, metric, usual, last, is_own=is_own)
        return [*before, replace(outlier, label=scene.fraud_label(MINOR))]

    return make


def _signed(dice: Random) -> tuple[Draw, float]:
    width = 10 ** dice.uniform(-1, 2)
    return lambda inner: inner.gauss(-20 * width, width), dice.choice([1, -1]) * width * dice.uniform(2_000, 9_000)


def _costly(dice: Random) -> tuple[Draw, float]:
    level = dice.uniform(200, 900)
    return lambda inner: inner.lognormvariate(0, 0.2) * level, level * dice.uniform(25, 200)


def _gauss(level: float, width: float) -> Draw:
    return lambda dice: dice.gauss(level, width)


OUTLIER: Variants = {
    "steady, then bad": _outlier("custom.quality", lambda dice: (_gauss(0.9, 0.01), dice.uniform(0.02, 0.25))),
    "suddenly good": _outlier("accuracy", lambda dice: (_gauss(0.15, 0.0125), dice.uniform(0.93, 1))),
    "of either sign": _outlier("mean_return", _signed),
    "newcomer": _outlier("custom.cost", _costly, is_own=False),
}


def burst(scene: Scene, count: int, minutes: float, consumers: int) -> list[Attempt]:
    """Return attempts of one agent for some consumers within the time."""
    agent, template = scene.new_agent(), scene.work("support/triage")
    made = []
    for index in range(count):
        buyer = Party(id=f"buyer-{scene.key.replace('/', '-')}-{index % consumers}")
        work = replace(template, work_id=f"{template.work_id}-{index}", consumer=buyer)
        output = {"predictions": [scene.random.choice(scene.random.choice(CLASSES))]}
        made.append(Attempt(agent=agent, work=work, output=output, minutes=index * minutes / count))
    return made


def velocity_burst(scene: Scene, limit: int, beyond: int, window_minutes: float, consumers: int) -> list[Attempt]:
    """Return a burst whose attempts beyond the limit are labelled."""
    attempts = burst(scene, limit + beyond, window_minutes * scene.random.choice([0.05, 0.9]), consumers)
    label = scene.fraud_label(MAJOR)
    return [*attempts[:limit], *(replace(each, label=label) for each in attempts[limit:])]
