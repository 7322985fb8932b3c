"""Correct labels: whoever is right says the same as everybody else who is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.benchmarks.fraud.scene import Make, Scene
from tests.benchmarks.fraud.story import Attempt
from tests.benchmarks.fraud.tasks import labels_work, some_wrong

Form = Callable[[Sequence[str]], Any]


def _list(labels: Sequence[str]) -> Any:
    return {"predictions": list(labels)}


def _objects(labels: Sequence[str]) -> Any:
    return {"predictions": [{"id": f"case-{place}", "label": label} for place, label in enumerate(labels)]}


def _lines(labels: Sequence[str]) -> Any:
    return {"text": "\n".join(labels), "predictions": list(labels)}


def _numbered(labels: Sequence[str]) -> Any:
    return {"text": "\n".join(f"{place}. {label}" for place, label in enumerate(labels, 1))}


def _table(labels: Sequence[str]) -> Any:
    return "id,label\n" + "\n".join(f"{place},{label}" for place, label in enumerate(labels))


def _sentences(labels: Sequence[str]) -> Any:
    return {"text": " ".join(f"Ticket {place} is {label}." for place, label in enumerate(labels, 1))}


def _alike(form: Form, least: int, most: int, right: float = 1.0) -> Make:
    """Several agents on the same cases; the last is looked at."""

    def make(scene: Scene) -> Sequence[Attempt]:
        first, truth = labels_work(scene, scene.random.randint(least, most))
        agents = [scene.agent() for _ in range(scene.random.randint(2, 4))]
        made = []
        for place, agent in enumerate(agents):
            work = replace(first, work_id=f"{first.work_id}-{place}", consumer=scene.consumer())
            output = form(some_wrong(scene.random, truth, 1 - right))
            label = scene.honest if place == len(agents) - 1 else None
            made.append(scene.candidate(agent, work, output, minutes=place * 40.0, label=label))
        return made

    return make


VARIANTS: Mapping[str, Make] = {
    "few": _alike(_list, 1, 12),
    "many": _alike(_list, 50, 400),
    "as objects": _alike(_objects, 10, 120),
    "in lines": _alike(_lines, 10, 200),
    "numbered": _alike(_numbered, 20, 150),
    "as a table": _alike(_table, 20, 150),
    "in stock sentences": _alike(_sentences, 15, 80),
    "mostly right": _alike(_list, 20, 200, 0.9),
    "often wrong": _alike(_list, 8, 80, 0.5),
}
