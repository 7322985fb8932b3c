"""The combinations of criteria that can be met together, for the price quote and the linter.

Criteria on one metric share one value; those whose thresholds have terms share one text. All others are independent.
Values at and around every threshold are compared as the engine does it.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

from aex_models.catalog import MetricEntry
from aex_models.criteria import SuccessCriterion
from aex_models.numbers import is_finite_number
from aex_models.results import Provenance
from aex_models.thresholds import MetricType
from aex_outcomes.catalog import Catalog, supplied_evaluation
from aex_outcomes.engine.criteria import (
    EQUALITY_TOLERANCE,
    is_boolean,
    is_met,
    is_within,
    scale_bound,
    to_fraction,
    value_problem,
)
from aex_outcomes.extractors.text_quality import references_of
from aex_outcomes.kernels.keywords import distinct_terms
from aex_outcomes.kernels.rouge import is_rouge_type, tokenize
from aex_outcomes.metric_names import is_custom

MAX_ENUMERATED = 10
"""The number of criteria up to which all combinations are enumerated (2¹⁰)."""

Met = tuple[bool, ...]
BY_LABELS = frozenset({"accuracy", "recall"})
BY_TERMS = "contains_keywords"


@dataclass(frozen=True, slots=True)
class EvaluationCounts:
    """Sizes of evaluation data; 0 and False for those that no criterion uses."""

    labels: int = 0
    """The number of true labels, which share metrics count."""
    terms: int = 0
    """The number of distinct required keywords."""
    wordless: bool = False
    """True when there are references, and ROUGE finds no word in any of them."""


NO_EVALUATION = EvaluationCounts()


def count_evaluation(criteria: Sequence[SuccessCriterion], evaluation: Mapping[str, Any]) -> EvaluationCounts:
    """Return the sizes of the evaluation data of valid criteria."""
    if not evaluation:
        return NO_EVALUATION
    metrics = {each.metric for each in criteria}
    references = references_of(evaluation) if any(map(is_rouge_type, metrics)) else ()
    return EvaluationCounts(
        labels=len(evaluation.get("ground_truth") or ()) if metrics & BY_LABELS else 0,
        terms=len(distinct_terms(evaluation.get("required_keywords") or ())) if BY_TERMS in metrics else 0,
        wordless=bool(references) and not any(map(tokenize, references)),
    )


@dataclass(frozen=True, slots=True)
class CriteriaGroup:
    """Criteria that depend on one another: their positions, and the ways to meet them with a value."""

    positions: tuple[int, ...]
    together: frozenset[Met]
    can_be_missing: bool
    """True when the metric can be missing, so that none is met; a missing measured or custom value costs nothing."""


def group_criteria(
    criteria: Sequence[SuccessCriterion], catalog: Catalog, extent: EvaluationCounts = NO_EVALUATION
) -> tuple[CriteriaGroup, ...]:
    """Group the criteria that depend on each other. `extent`: the items whose fractions shares can be."""
    by_value: dict[str, list[int]] = {}
    with_terms: list[int] = []
    for position, criterion in enumerate(criteria):
        supplied = supplied_evaluation(criterion)
        if "required_keywords" in supplied and len(with_terms) < MAX_ENUMERATED:
            with_terms.append(position)
        else:
            by_value.setdefault(_variable(criterion, supplied, position, catalog), []).append(position)
    numeric = [_by_value(criteria, positions, catalog, extent) for positions in by_value.values()]
    return (*numeric, *([_by_terms(criteria, with_terms)] if with_terms else []))


def feasible_combinations(criteria_groups: Sequence[CriteriaGroup], count: int) -> Iterator[Met]:
    """Yield each feasible combination: for each of `count` criteria, whether it is met."""
    ways = [
        {*each.together, *([(False,) * len(each.positions)] if each.can_be_missing else [])} for each in criteria_groups
    ]
    for choice in product(*map(sorted, ways)):
        met = [False] * count
        for group, flags in zip(criteria_groups, choice, strict=True):
            for position, flag in zip(group.positions, flags, strict=True):
                met[position] = flag
        yield tuple(met)


def _variable(criterion: SuccessCriterion, supplied: Mapping[str, Any], position: int, catalog: Catalog) -> str:
    if supplied:
        return f"{criterion.metric}\0{position}"
    # Weighted by class, the recall is the accuracy.
    is_recall = criterion.metric == "recall" and catalog.sources["recall"] == "classification"
    return "accuracy" if is_recall else criterion.metric


def _by_value(
    criteria: Sequence[SuccessCriterion], positions: Sequence[int], catalog: Catalog, extent: EvaluationCounts
) -> CriteriaGroup:
    sharing = [criteria[position] for position in positions]
    pairs = [(each, catalog.entry(each.metric)) for each in sharing]
    entry = pairs[0][1]
    is_own_code = is_custom(entry.name)
    grids = _grids(sharing, entry, extent)
    numbers = {value: None for items in grids for value in _numbers(sharing, entry, items)}
    values = [*numbers, *([True, False] if any(map(is_boolean, sharing)) else [])]
    met_by_value = [tuple(_is_met(*each, value) for each in pairs) for value in values]
    if is_own_code:  # an invalid value for any of them makes the verdict indeterminate
        met_by_value = [met for met in met_by_value if None not in met]
    return CriteriaGroup(
        positions=tuple(positions),
        together=frozenset(tuple(map(bool, met)) for met in met_by_value),
        can_be_missing=entry.provenance is not Provenance.MEASURED and not is_own_code,
    )


def _is_met(criterion: SuccessCriterion, entry: MetricEntry, raw: bool | float) -> bool | None:
    """Return True when a value meets the criterion; None for an invalid value."""
    value = to_fraction(criterion, raw)
    return is_met(criterion, value) if value_problem(criterion, value, entry) is None else None


def _grids(sharing: Sequence[SuccessCriterion], entry: MetricEntry, extent: EvaluationCounts) -> tuple[int | None, ...]:
    """Return the denominators of the value (1 for counts); None for any value."""
    if is_custom(entry.name):
        return (1 if any(each.metric_type is MetricType.COUNT for each in sharing) else None,)
    if MetricType.COUNT in entry.metric_types:  # a metric that may also be a share is not always an integer
        return (1, None) if MetricType.PERCENTAGE in entry.metric_types else (1,)
    if entry.name in BY_LABELS:
        return (extent.labels or None,)
    if entry.name == BY_TERMS:
        return (extent.terms or None,)
    return (None,)


def _numbers(sharing: Sequence[SuccessCriterion], entry: MetricEntry, items: int | None) -> Iterator[float]:
    """Return values at, just beside and between all thresholds, within the metric's range."""
    low, high = entry.range
    points = sorted({*_points(sharing), *(float(end) for end in (low, high, 0, 1) if end is not None)})
    between = [(left + right) / 2 for left, right in pairwise(points)]
    beside = [math.nextafter(point, way) for point in points for way in (-math.inf, math.inf)]
    candidates = {*points, *between, *beside, points[0] - 1, points[-1] + 1}
    if items:  # the fractions k/items around each candidate; an integer stays one
        candidates = {(math.floor(each * items) + step) / items for each in candidates for step in (-1, 0, 1, 2)}
    return (value for value in sorted(candidates) if is_within(value, entry.range))


def _points(sharing: Sequence[SuccessCriterion]) -> Iterator[float]:
    for criterion in sharing:
        threshold = criterion.threshold
        for bound in threshold.values() if isinstance(threshold, Mapping) else [threshold]:
            if not is_finite_number(bound):
                continue
            reach = EQUALITY_TOLERANCE if criterion.comparison.value in {"eq", "neq"} else 0
            for point in {float(bound), float(scale_bound(criterion, bound))}:
                yield from {point - reach, point, point + reach}


Demand = tuple[bool, frozenset[str]]
"""True for all terms, False for any; and the terms."""


def _by_terms(criteria: Sequence[SuccessCriterion], positions: Sequence[int]) -> CriteriaGroup:
    demands = [_demand(criteria[position]) for position in positions]
    return CriteriaGroup(
        positions=tuple(positions),
        together=frozenset(met for met in product((False, True), repeat=len(demands)) if _is_consistent(demands, met)),
        can_be_missing=True,
    )


def _demand(criterion: SuccessCriterion) -> Demand:
    terms = distinct_terms(supplied_evaluation(criterion)["required_keywords"])
    return criterion.comparison.value == "contains_all", frozenset(terms)


def _is_consistent(demands: Sequence[Demand], met: Met) -> bool:
    """Return True when a text can have and lack the terms that these verdicts imply.

    `all` met and `any` unmet decide all their terms. The opposite verdicts need one of their terms: when all others are
    decided against it, the last one is decided too, until nothing more follows.
    """
    pairs = list(zip(demands, met, strict=True))
    present = {term for (every, terms), is_met in pairs if every and is_met for term in terms}
    absent = {term for (every, terms), is_met in pairs if not every and not is_met for term in terms}
    while not present & absent:
        before = len(present) + len(absent)
        for (every, terms), verdict in pairs:
            if every is verdict:
                continue
            needed, excluded = (absent, present) if every else (present, absent)
            open_terms = terms - excluded
            if not open_terms:
                return False
            if len(open_terms) == 1:
                needed |= open_terms
        if len(present) + len(absent) == before:
            return True
    return False
