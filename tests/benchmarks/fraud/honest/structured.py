"""Answers that are data: records, extracted lists, tables, programs. Correct ones are alike."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.benchmarks.fraud.scene import EXTRACTION, Make, Scene
from tests.benchmarks.fraud.story import Attempt, Work
from tests.benchmarks.fraud.tasks import code, code_work

Extract = Callable[[Scene], Any]


def _record(scene: Scene) -> Any:
    writer = scene.writer()
    items = [{"name": writer.name(), "price": scene.random.randint(1, 900)} for _ in range(scene.random.randint(3, 30))]
    return {"invoice": scene.random.randint(1, 10**6), "currency": "EUR", "items": items}


def _record_as_text(scene: Scene) -> Any:
    return {"text": json.dumps(_record(scene), ensure_ascii=False, indent=scene.random.choice([None, 2]))}


def _names(scene: Scene) -> Any:
    writer = scene.writer()
    mark = scene.random.choice(["", "- ", "* ", "• "])
    names = [f"{mark}{writer.name()} {writer.name()}" for _ in range(scene.random.randint(10, 60))]
    return {"text": "\n".join(names)}


def _names_in_a_row(scene: Scene) -> Any:
    writer = scene.writer("en", "de", "ru")
    return ", ".join(writer.name() for _ in range(scene.random.randint(20, 120)))


def _table(scene: Scene) -> Any:
    writer = scene.writer()
    rows = [
        f"{writer.name()};{scene.random.randint(1, 9999)};{scene.random.choice(writer.bank.words['adjectives'])}"
        for _ in range(scene.random.randint(10, 60))
    ]
    return {"text": "\n".join(["name;amount;kind", *rows])}


def _pairs(scene: Scene) -> Any:
    """`key: value`, one a line."""
    writer = scene.writer()
    pairs = [f"{noun}: {scene.random.randint(1, 5000)}" for noun in scene.random.sample(writer.bank.nouns, 30)]
    return {"text": "\n".join(pairs)}


def _equal(extract: Extract) -> Make:
    """Two agents read one document for two consumers, and find the same."""

    def make(scene: Scene) -> Sequence[Attempt]:
        found = extract(scene)
        first, second = (scene.work(EXTRACTION, tag=tag) for tag in ("", "-2"))
        return [
            scene.candidate(scene.agent(), first, found),
            scene.candidate(scene.agent(), second, found, minutes=600.0, label=scene.honest),
        ]

    return make


def _program(scene: Scene) -> Sequence[Attempt]:
    work: Work = code_work(scene)
    return [scene.candidate(scene.agent(), work, {"text": code(scene.random)}, label=scene.honest)]


def _one_program(scene: Scene) -> Any:
    return {"text": code(scene.random)}


VARIANTS: Mapping[str, Make] = {
    "equal records": _equal(_record),
    "equal records as text": _equal(_record_as_text),
    "equal names": _equal(_names),
    "equal names in a row": _equal(_names_in_a_row),
    "equal tables": _equal(_table),
    "equal pairs": _equal(_pairs),
    "programs": _program,
    "equal programs": _equal(_one_program),
}
