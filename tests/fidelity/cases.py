"""Random and adversarial candidates with their references, and predictions with their ground truth. Seeded."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.libs.outcomes.kernels.texts import pairs, prose

Label = str | int | bool


@dataclass(frozen=True, slots=True)
class TextCase:
    """One candidate, and one or more references."""

    candidate: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LabelCase:
    """What the extractor is given, and the labels in one order, told apart by kind: what scikit-learn is given."""

    ground_truth: list[Any]
    predictions: list[Any]
    true: list[Label]
    predicted: list[Label]


def text_cases(seed: int, count: int) -> Iterator[TextCase]:
    """Four in five of odd pieces, the others prose and revisions of it; first of all, a few of thousands of tokens."""
    source = random.Random(seed)
    long = (_very_long(seed) if count >= 1_000 else [])[:count]
    odd = (count - len(long)) * 4 // 5
    yield from long
    for candidate, references in pairs(seed, odd, longest=40):
        yield TextCase(candidate, tuple(references))
    for _ in range(count - len(long) - odd):
        yield _of_prose(source)


def _very_long(seed: int) -> list[TextCase]:
    text = prose(seed, 2_000)
    return [
        TextCase(text, (prose(seed + 1, 2_500),)),
        TextCase(text, (_revised(text, random.Random(seed), 0.05), text[:3_000])),
        TextCase("a " * 3_000, ("a " * 2_000 + "b",)),
        TextCase("a b " * 1_500, ("b a " * 1_500,)),
        TextCase(text.replace(" ", "\n"), (text.upper(),)),
        TextCase("日本語。" * 4_000, ("日本語。" * 3_999,)),
        TextCase(text, ("",)),
    ]


def _of_prose(source: random.Random) -> TextCase:
    text = prose(source.randrange(10**6), source.choice([1, 2, 3, 4, 5, 20, 60, 150]))
    references = [_revised(text, source, source.random()) for _ in range(source.choice([1, 1, 2, 4]))]
    return TextCase(text, tuple(references))


def _revised(text: str, source: random.Random, share: float) -> str:
    """The text with a share of its words dropped, doubled, swapped or shouted."""
    words: list[str] = []
    for word in text.split():
        if source.random() >= share:
            words.append(word)
            continue
        words += source.choice([[], [word, word], ["other"], [word.upper() + "!"], [word[::-1]]])
        if source.random() < 0.3 and len(words) > 1:
            words[-1], words[-2] = words[-2], words[-1]
    return " ".join(words)


def label_cases(seed: int, count: int) -> Iterator[LabelCase]:
    """Of every kind of label; by place or by id; with labels that nobody predicted, and such as do not exist."""
    source = random.Random(seed)
    for _ in range(count):
        classes, strangers = _classes(source)
        size = source.choice([1, 1, 2, 3, 5, 10, 30, 100, 300])
        true = source.choices(classes, weights=[1 / (n + 1) for n in range(len(classes))], k=size)
        noise = source.choice([0.0, 0.1, 0.5, 1.0])
        predicted = [source.choice([*classes, *strangers]) if source.random() < noise else each for each in true]
        yield _dressed(source, true, predicted)


def _classes(source: random.Random) -> tuple[list[Label], list[Label]]:
    """The true classes, and labels that only a prediction has."""
    kinds: list[tuple[list[Label], list[Label]]] = [
        (["yes", "no"], ["", "maybe"]),
        (["é", "e\u0301", "日本", " ", "A", "a"], ["\u0000"]),
        ([f"class {number}" for number in range(40)], ["class x"]),
        ([0, 1], [2, -1]),
        ([-5, 0, 3, 10**6, 2**53 - 1], [7]),
        ([True, False], []),
        (["only"], ["other"]),
        ([True, 1, "1", "True", False, 0], ["0", 2]),
    ]
    classes, strangers = source.choice(kinds)
    return classes[: source.randint(1, len(classes))], strangers if source.random() < 0.5 else []


def _dressed(source: random.Random, true: list[Label], predicted: list[Label]) -> LabelCase:
    """As bare labels, as objects, or as objects with ids, the predictions then in an order of their own."""
    style = source.choice(["bare", "objects", "mixed", "ids"])
    if style == "bare":
        return LabelCase(list(true), [_as_float(source, each) for each in predicted], true, predicted)
    if style == "ids":
        ids: list[Label] = [number if source.random() < 0.5 else f"item {number}" for number in range(len(true))]
        truth = [{"label": each, "id": name} for each, name in zip(true, ids, strict=True)]
        answers = [{"label": each, "id": name} for each, name in zip(predicted, ids, strict=True)]
        source.shuffle(answers)
        return LabelCase(truth, answers, true, predicted)
    bare = 0.5 if style == "mixed" else 0.0
    return LabelCase(
        [each if source.random() < bare else {"label": each} for each in true],
        [each if source.random() < bare else {"label": each, "confidence": 0.5} for each in predicted],
        true,
        predicted,
    )


def _as_float(source: random.Random, label: Label) -> Any:
    """1.0 is 1, as in canonical JSON."""
    whole = isinstance(label, int) and not isinstance(label, bool)
    return float(label) if whole and source.random() < 0.2 else label
