"""Histories, fraudulent and honest: outliers, records, equal labels and data, bursts."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

from aex_models.governance import Party, Severity
from tests.benchmarks.fraud.figures import Draw
from tests.benchmarks.fraud.stories import CLASSES, Attempt, Scene, Variants

Values = Callable[[Random], tuple[Draw, float]]
"""The draw of the usual values, and the last value."""


def _history(
    severity: Severity | None, metric: str, draw: Values, scene: Scene, *, is_own: bool = True
) -> list[Attempt]:
    """Make 24 to 40 attempts with usual values and a labelled last one, of one agent or of several."""
    usual, last = draw(scene.random)
    work, agent = scene.work(f"domain/{scene.key.replace('/', '-')}"), scene.new_agent()
    count = scene.random.randint(24, 40)
    made = []
    for index in range(count + 1):
        author = agent if is_own or index == count else Party(id=f"{agent.id}-{index % 9}")
        value = last if index == count else usual(scene.random)
        made.append(scene.candidate(author, work, {"run": index}, minutes=index * 97.0, measured={metric: value}))
    return [*made[:-1], replace(made[-1], label=scene.label(severity))]


def _gauss(level: float, width: float) -> Draw:
    return lambda dice: dice.gauss(level, width)


def _costly(dice: Random) -> tuple[Draw, float]:
    level = dice.uniform(200, 900)
    return lambda inner: inner.lognormvariate(0, 0.2) * level, level * dice.uniform(25, 200)


def _spread(dice: Random) -> tuple[Draw, float]:
    level, width = dice.uniform(3, 9), dice.uniform(0.3, 1.0)
    return lambda inner: inner.lognormvariate(level, width), dice.lognormvariate(level, width)


def _steady(dice: Random) -> float:
    return min(dice.gauss(0.9, 0.012), 1.0)


OUTLIER: Variants = {
    "steady, then bad": partial(
        _history, Severity.MINOR, "custom.quality", lambda dice: (_gauss(0.9, 0.01), dice.uniform(0.02, 0.25))
    ),
    "newcomer": partial(_history, Severity.MINOR, "custom.cost", _costly, is_own=False),
}
RECORDS: Variants = {
    "steady": partial(_history, None, "accuracy", lambda dice: (_steady, _steady(dice))),
    "spread": partial(_history, None, "custom.spread", _spread),
    "mostly perfect": partial(_history, None, "accuracy", lambda _: (lambda d: 1.0 if d.random() < 0.9 else 0.9, 0.9)),
    "newcomer": partial(_history, None, "custom.cost", _spread, is_own=False),
}


def _equal_labels(form: Callable[[Sequence[str]], Any], scene: Scene) -> list[Attempt]:
    first, truth = scene.label_work(scene.random.randint(10, 400))
    made = []
    for index in range(3):
        work = replace(first, work_id=f"{first.work_id}-{index}", consumer=scene.consumer())
        made.append(scene.candidate(scene.agent(), work, form(truth), minutes=index * 40.0))
    return [*made[:-1], replace(made[-1], label=scene.label())]


CLASSIFICATION: Variants = {
    "list": partial(_equal_labels, lambda labels: {"predictions": labels}),
    "lines": partial(_equal_labels, lambda labels: {"text": "\n".join(labels)}),
}


def _equal_data(extract: Callable[[Scene], str], scene: Scene) -> list[Attempt]:
    output = {"text": extract(scene)}
    first, second = (scene.work("documents/extraction", tag=tag) for tag in ("", "-2"))
    return [
        scene.candidate(scene.agent(), first, output),
        scene.candidate(scene.agent(), second, output, minutes=600.0, label=scene.label()),
    ]


def _items(scene: Scene) -> str:
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


STRUCTURED: Variants = {"records": partial(_equal_data, _items), "programs": partial(_equal_data, program)}


def _burst(scene: Scene, count: int, minutes: float, consumers: int) -> list[Attempt]:
    """Make attempts of one agent for some consumers within the time."""
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
    attempts = _burst(scene, limit + beyond, window_minutes * scene.random.choice([0.05, 0.9]), consumers)
    label = scene.label(Severity.MAJOR)
    return [*attempts[:limit], *(replace(each, label=label) for each in attempts[limit:])]


def _busy(consumers: int, scene: Scene) -> list[Attempt]:
    *before, last = _burst(scene, scene.random.randint(20, 60), 60, consumers)
    return [*before, replace(last, label=scene.label())]


BUSY: Variants = {"many consumers": partial(_busy, 15), "one consumer": partial(_busy, 1)}
