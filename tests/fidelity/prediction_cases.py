"""Random numbers and probabilities with their truth, equal for equal seeds."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Label = str | int | bool


@dataclass(frozen=True, slots=True)
class NumberCase:
    """The extractor's input, and its numbers in one order for the reference libraries."""

    targets: list[Any]
    predictions: list[Any]
    true: list[float]
    predicted: list[float]


@dataclass(frozen=True, slots=True)
class ProbabilityCase:
    """The extractor's input, and its labels and probabilities in one order for scikit-learn."""

    ground_truth: list[Any]
    predictions: list[Any]
    true: list[Label]
    labels: list[Label]
    """Labels in ascending order; some of them may never be true."""
    matrix: list[list[float]]
    """Probability of each label, by item."""


def number_cases(seed: int) -> Iterator[NumberCase]:
    """Yield numbers of all magnitudes without end, some tied, some constant, matched by position or id."""
    source = random.Random(seed)
    while True:
        true, predicted = _draw_numbers(source)
        targets, predictions = _format_items(source, "value", true, predicted)
        yield NumberCase(targets, predictions, true, predicted)


def _draw_numbers(source: random.Random) -> tuple[list[float], list[float]]:
    size = source.choice([1, 2, 2, 3, 5, 10, 30, 100, 300])
    scale, offset = 10.0 ** source.choice([-100, -20, -3, 0, 0, 0, 3, 100]), source.choice([0, 0, 0, 1, -1000])
    true = [scale * (source.gauss(0, 1) + offset) for _ in range(size)]
    noise = source.choice([0, 1e-9, 0.1, 1, 100])
    predicted = [each + noise * scale * source.gauss(0, 1) for each in true]
    match source.choice(["continuous", "continuous", "tied", "tied", "constant", "reversed"]):
        case "tied":
            true, predicted = ([float(round(each / scale)) for each in numbers] for numbers in (true, predicted))
        case "constant":
            constants = [float(source.choice([0, 1, 0.5, -7, 2**40]))] * size
            true, predicted = source.choice([(constants, predicted), (true, constants), (constants, list(constants))])
        case "reversed":
            predicted = sorted(predicted, reverse=True)
            true.sort()
    return true, predicted


def probability_cases(seed: int, count: int) -> Iterator[ProbabilityCase]:
    """Yield distributions over labels of each type; some are rounded, certain or inexact."""
    source = random.Random(seed)
    for _ in range(count):
        classes = _draw_classes(source)
        untrue = source.choice([0, 0, 1]) if len(classes) > 2 else 0
        labels = sorted(classes)
        true_labels = source.sample(labels, len(labels) - untrue)
        size = source.choice([2, 3, 5, 10, 30, 100])
        true = [*true_labels, *(source.choice(true_labels) for _ in range(size))]
        source.shuffle(true)
        matrix = _draw_distributions(source, true, labels)
        by_label = [{_format_key(each): p for each, p in zip(labels, row, strict=True)} for row in matrix]
        truth, predictions = _format_items(source, "label", true, by_label)
        predictions = [{"probabilities": each} if "probabilities" not in each else each for each in predictions]
        yield ProbabilityCase(truth, predictions, true, labels, matrix)


def _draw_classes(source: random.Random) -> list[Any]:
    kinds: list[list[Label]] = [
        ["no", "yes"],
        ["b", "a", "é", "日本", "A"],
        [f"class {number}" for number in range(10)],
        [1, 0],
        [9, 10, -3, 2],
        [True, False],
    ]
    classes = source.choice(kinds)
    return classes[: source.randint(2, len(classes))]


def _draw_distributions(source: random.Random, true: Sequence[Label], labels: Sequence[Label]) -> list[list[float]]:
    sharpness = source.choice([0, 0.5, 3])
    rows = []
    for label in true:
        weights = [source.random() + (sharpness if each == label else 0) for each in labels]
        rows.append([each / sum(weights) for each in weights])
    match source.choice(["continuous", "rounded", "certain", "inexact"]):
        case "rounded":
            rows = [_round(row) for row in rows]
        case "certain":
            rows = [[float(each == max(row)) for each in row] for row in rows]
        case "inexact":
            rows = [[row[0] * (1 - 9e-7 * source.random()), *row[1:]] for row in rows]
    return rows


def _round(row: Sequence[float]) -> list[float]:
    tenths = [int(10 * each) for each in row]
    tenths[tenths.index(max(tenths))] += 10 - sum(tenths)
    return [each / 10 for each in tenths]


def _format_key(label: Label) -> str:
    return str(label).lower() if isinstance(label, bool) else str(label)


def _format_items(
    source: random.Random, field: str, true: Sequence[Any], predicted: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Return bare items, objects, or objects with ids and shuffled predictions."""
    name = "probabilities" if field == "label" else field
    style = source.choice(["bare", "objects", "ids"])
    if style == "bare":
        return list(true), list(predicted)
    if style == "objects":
        return [{field: each} for each in true], [{name: each} for each in predicted]
    ids = [number if source.random() < 0.5 else f"item {number}" for number in range(len(true))]
    predictions = [{name: each, "id": own} for each, own in zip(predicted, ids, strict=True)]
    source.shuffle(predictions)
    return [{field: each, "id": own} for each, own in zip(true, ids, strict=True)], predictions
