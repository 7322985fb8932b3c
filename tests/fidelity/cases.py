"""Random and adversarial texts and labels with their references, equal for equal seeds."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.libs.outcomes.kernels.texts import pairs, prose

Label = str | int | bool


@dataclass(frozen=True, slots=True)
class TextCase:
    """A candidate with at least one reference."""

    candidate: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LabelCase:
    """The extractor's input, and its labels in one order for scikit-learn."""

    ground_truth: list[Any]
    predictions: list[Any]
    true: list[Label]
    predicted: list[Label]


def text_cases(seed: int, count: int) -> Iterator[TextCase]:
    """Yield a few very long texts, then four in five adversarial ones, then prose and its revisions."""
    source = random.Random(seed)
    long = (_long_cases(seed) if count >= 1_000 else [])[:count]
    adversarial = (count - len(long)) * 4 // 5
    yield from long
    for candidate, references in pairs(seed, adversarial, longest=40):
        yield TextCase(candidate, tuple(references))
    for _ in range(count - len(long) - adversarial):
        yield _prose_case(source)


def _long_cases(seed: int) -> list[TextCase]:
    text = prose(seed, 2_000)
    return [
        TextCase(text, (prose(seed + 1, 2_500),)),
        TextCase(text, (_revise(text, random.Random(seed), 0.05), text[:3_000])),
        TextCase("a " * 3_000, ("a " * 2_000 + "b",)),
        TextCase("a b " * 1_500, ("b a " * 1_500,)),
        TextCase(text.replace(" ", "\n"), (text.upper(),)),
        TextCase("日本語。" * 4_000, ("日本語。" * 3_999,)),
        TextCase(text, ("",)),
    ]


def _prose_case(source: random.Random) -> TextCase:
    text = prose(source.randrange(10**6), source.choice([1, 2, 3, 4, 5, 20, 60, 150]))
    references = [_revise(text, source, source.random()) for _ in range(source.choice([1, 1, 2, 4]))]
    return TextCase(text, tuple(references))


def _revise(text: str, source: random.Random, share: float) -> str:
    """Return the text with a share of its words removed, doubled, swapped or changed."""
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
    """Yield labels of every type, matched by position or id, some never predicted and some never true."""
    source = random.Random(seed)
    for _ in range(count):
        classes, others = _draw_classes(source)
        size = source.choice([1, 1, 2, 3, 5, 10, 30, 100, 300])
        true = source.choices(classes, weights=[1 / (n + 1) for n in range(len(classes))], k=size)
        noise = source.choice([0.0, 0.1, 0.5, 1.0])
        predicted = [source.choice([*classes, *others]) if source.random() < noise else each for each in true]
        yield _format_labels(source, true, predicted)


def _draw_classes(source: random.Random) -> tuple[list[Label], list[Label]]:
    """Return the true classes, and labels that only predictions have."""
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
    classes, others = source.choice(kinds)
    return classes[: source.randint(1, len(classes))], others if source.random() < 0.5 else []


def _format_labels(source: random.Random, true: list[Label], predicted: list[Label]) -> LabelCase:
    """Return bare labels, objects, or objects with ids and shuffled predictions."""
    style = source.choice(["bare", "objects", "mixed", "ids"])
    if style == "bare":
        return LabelCase(list(true), [_as_float(source, each) for each in predicted], true, predicted)
    if style == "ids":
        ids: list[Label] = [number if source.random() < 0.5 else f"item {number}" for number in range(len(true))]
        truth = [{"label": each, "id": name} for each, name in zip(true, ids, strict=True)]
        predicted_objects = [{"label": each, "id": name} for each, name in zip(predicted, ids, strict=True)]
        source.shuffle(predicted_objects)
        return LabelCase(truth, predicted_objects, true, predicted)
    bare = 0.5 if style == "mixed" else 0.0
    return LabelCase(
        [each if source.random() < bare else {"label": each} for each in true],
        [each if source.random() < bare else {"label": each, "confidence": 0.5} for each in predicted],
        true,
        predicted,
    )


def _as_float(source: random.Random, label: Label) -> Any:
    """Return some integers as floats, which are equal in canonical JSON."""
    is_integer = isinstance(label, int) and not isinstance(label, bool)
    return float(label) if is_integer and source.random() < 0.2 else label
