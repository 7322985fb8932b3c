"""Random records, and their scores by scipy, rapidfuzz and comparisons from first principles."""

import random
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import numpy as np
from rapidfuzz import fuzz
from scipy.optimize import linear_sum_assignment

from aex_outcomes.extractors.protocol import Detailed, MetricExtractor
from aex_outcomes.extractors.records import RecordsExtractor
from tests.fidelity.differences import FidelityRow

BAR = 1e-12
FORMAT = "%d.%m.%Y"
_LONGEST = 6
_KINDS: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "exact": ("exact", [0, 1, True, "1", "a", [1, {"b": 2}], {}], [1.0, False, -0.0, [1.0, {"b": 2}], [True], "a "]),
    "casefold": ("casefold", ["Straße", "ﬁx", "ACME", 1, ""], ["STRASSE", "FIX", "acme", "1", "acme "]),
    "number": ({"number": {"abs": 0.1, "rel": 0.02}}, [0, 1, 1.1, 100, -100, 1e9], [1.2, 102, 102.1, -98, "1", True]),
    "date": ({"date": [FORMAT]}, ["2024-01-31", "01.02.2024", "2024-02-01T10:00:00+01:00"], [
        "31.01.2024", "2024-02-01", "20240131", "2024-02-01T09:00:00Z", "2024-02-01 09:00", "31/01/2024", 20240131, "",
    ]),
    "set": ("set", [[], ["a"], ["a", "b"], [1, 2]], [["b", "a", "a"], [2.0, 1], [True, 2], "a", {}]),
    "fuzzy": ({"fuzzy": 0.55}, ["", "acme limited", "acme ltd", "a" * 20], ["acme limit", "a" * 11 + "b" * 9, 5]),
}  # fmt: skip
"""Comparator, expected values and further delivered ones, by kind."""


@dataclass(frozen=True, slots=True)
class RecordsCase:
    """Expected records, delivered ones, and the kind of each field."""

    records: Mapping[str, Any]
    delivered: list[dict[str, Any]]
    kinds: Mapping[str, str]


def records_cases(seed: int, count: int) -> Iterator[RecordsCase]:
    """Yield records with and without a key, of which some fields are absent, changed or of another type."""
    source = random.Random(seed)
    for _ in range(count):
        kinds = {f"f{number}": source.choice([*_KINDS]) for number in range(source.randint(1, 5))}
        is_keyed = source.random() < 0.4
        items = [_draw_item(source, kinds) for _ in range(source.randint(1, _LONGEST))]
        noise = source.choice([0.0, 0.2, 0.6])
        delivered = [_revise(source, each, kinds, noise) for each in items if source.random() >= noise / 2]
        delivered += [_draw_item(source, kinds)] * (source.random() < noise and len(delivered) < _LONGEST)
        ids = source.sample(range(_LONGEST + 2), _LONGEST)
        fields = {f"/{name}": _KINDS[kind][0] for name, kind in kinds.items()}
        records: dict[str, Any] = {"items": items, "fields": fields}
        if is_keyed:
            kinds, records = {**kinds, "id": "exact"}, {**records, "fields": {**fields, "/id": "exact"}, "key": ["/id"]}
            for side in (items, delivered):
                side[:] = [{**each, "id": name} for each, name in zip(side, ids, strict=False)]
                source.shuffle(ids)
        source.shuffle(delivered)
        yield RecordsCase(records, delivered, kinds)


def _draw_item(source: random.Random, kinds: Mapping[str, str]) -> dict[str, Any]:
    return {name: source.choice([*_KINDS[kind][1], None]) for name, kind in kinds.items()}


def _revise(source: random.Random, item: Mapping[str, Any], kinds: Mapping[str, str], noise: float) -> dict[str, Any]:
    """Return the item with some values replaced, and some absent ones left out."""
    revised = {
        name: source.choice([*_KINDS[kind][1], *_KINDS[kind][2], None]) if source.random() < noise else item[name]
        for name, kind in kinds.items()
    }
    return {name: value for name, value in revised.items() if value is not None or source.random() < 0.5}


async def records_rows(cases: Iterable[RecordsCase], extractor: MetricExtractor | None = None) -> list[FidelityRow]:
    """Compare the scores of records with those of scipy's assignment."""
    extractor = extractor or RecordsExtractor()
    names = RecordsExtractor().supported_metrics()
    rows = {name: FidelityRow(name, "scipy", BAR) for name in names}
    for case in cases:
        own = await extractor.extract({"records": case.records}, {"records": case.delivered}, {})
        for name, reference in _score(case).items():
            value = own.get(name)
            rows[name].count(value.value if isinstance(value, Detailed) else value, reference)
    return list(rows.values())


def _score(case: RecordsCase) -> dict[str, float]:
    items, delivered = case.records["items"], case.delivered
    pairs = _match_by_id(items, delivered) if "key" in case.records else _match_by_assignment(case)
    correct = wrong = right = 0
    for item, record in pairs:
        is_right = True
        for name, kind in case.kinds.items():
            one, other = item.get(name), record.get(name)
            is_correct = one is not None and other is not None and _agree(kind, one, other)
            correct += is_correct
            wrong += one is not None and other is not None and not is_correct
            is_right = is_right and (is_correct or one is other is None)
        right += is_right
    expected_values, delivered_values = (
        sum(each.get(name) is not None for each in side for name in case.kinds) for side in (items, delivered)
    )
    missing, spurious = expected_values - correct - wrong, delivered_values - correct - wrong
    precision = correct / delivered_values if delivered_values else 0
    recall = correct / expected_values if expected_values else 0
    values = correct + wrong + missing + spurious
    return {
        "field_precision": precision,
        "field_recall": recall,
        "field_f1": 2 * precision * recall / (precision + recall) if correct else 0,
        "field_accuracy": correct / values if values else 0,
        "record_f1": 2 * right / (len(items) + len(delivered)),
    }


def _match_by_id(items: Sequence[Any], delivered: Sequence[Any]) -> list[tuple[Any, Any]]:
    return [(item, record) for item in items for record in delivered if item["id"] == record.get("id")]


def _match_by_assignment(case: RecordsCase) -> list[tuple[Any, Any]]:
    """Return the pairs of scipy's assignment; small weights make the earliest of the best ones unique."""
    items, delivered = case.records["items"], case.delivered
    size = max(len(items), len(delivered))
    weights = np.zeros((size, size))
    for row, item in enumerate(items):
        for column in range(size):
            weights[row, column] = -min(column, len(delivered)) * (size + 1) ** (size - 1 - row)
        for column, record in enumerate(delivered):
            agreeing = sum(
                _agree(kind, item[name], record[name])
                for name, kind in case.kinds.items()
                if item.get(name) is not None and record.get(name) is not None
            )
            weights[row, column] += agreeing * (size + 1) ** (size + 1)
    assigned = zip(*linear_sum_assignment(weights, maximize=True), strict=True)
    return [(items[row], delivered[column]) for row, column in assigned if row < len(items) and column < len(delivered)]


def _agree(kind: str, one: Any, other: Any) -> bool:
    if kind == "fuzzy":
        return isinstance(other, str) and fuzz.ratio(one, other) >= 55 - 1e-9
    if kind == "number":
        if isinstance(other, bool | str):
            return False
        return abs(_exact(one) - _exact(other)) <= max(_exact(0.1), _exact(0.02) * abs(_exact(one)))
    if kind == "date":
        return _moment(one) == _moment(other)
    if kind == "set":
        return isinstance(other, list) and all(
            any(_is_same(each, match) for match in side)
            for side, members in ((one, other), (other, one))
            for each in members
        )
    if kind == "casefold" and isinstance(one, str) and isinstance(other, str):
        return _normalize(one) == _normalize(other)
    return _is_same(one, other)


def _exact(number: float) -> Fraction:
    return Fraction(str(number))


def _normalize(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def _moment(value: Any) -> datetime | None:
    for parse in (datetime.fromisoformat, lambda text: datetime.strptime(text, FORMAT)):  # noqa: DTZ007
        try:
            found: datetime = parse(value)
        except (ValueError, TypeError):
            continue
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    return None


def _is_same(one: Any, other: Any) -> bool:
    """Return True if two values are equal in JSON, where true is not 1."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_same(one[key], other[key]) for key in one)
    return isinstance(one, bool) is isinstance(other, bool) and type(one) in _like(other) and bool(one == other)


def _like(value: Any) -> tuple[type, ...]:
    return (int, float, bool) if isinstance(value, int | float) else (type(value),)
