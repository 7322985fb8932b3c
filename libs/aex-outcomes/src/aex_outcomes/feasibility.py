"""Combinations of criteria that one candidate can meet together, for the price quote and the linter.

Criteria on one metric share one value, and criteria with required terms in their thresholds share one text. All others
are independent. Which criteria a value meets is decided as by the engine, for values at and around every threshold.
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
    find_value_problem,
    is_boolean_criterion,
    is_met,
    is_share_and_boolean,
    is_within,
    to_flag_if_boolean,
    to_fraction_if_custom_percent,
    to_fraction_if_percent,
)
from aex_outcomes.evaluation_counts import (
    BY_LABELS,
    BY_TESTS,
    NO_EVALUATION,
    EvaluationCounts,
    list_test_metric_values,
)
from aex_outcomes.kernels.keywords import normalize_distinct_terms
from aex_outcomes.metric_names import is_custom_metric

MAX_ENUMERATED = 10
"""Maximum of criteria whose combinations are enumerated: 2¹⁰."""

_TESTS_VARIABLE = "number of passed tests"
Met = tuple[bool, ...]
"""Combination: for each criterion in order, true if it is met."""


@dataclass(frozen=True, slots=True)
class CriteriaGroup:
    """Criteria that depend on one value or text, with the combinations of them that a candidate can meet."""

    positions: tuple[int, ...]
    """Positions of the criteria in the work."""
    together: frozenset[Met]
    """Combinations that some value of the metric, or some text, meets."""
    can_be_missing: bool
    """True if an outcome without the metric is priced as well: it meets none of the criteria."""


def group_dependent_criteria(
    criteria: Sequence[SuccessCriterion], catalog: Catalog, counts: EvaluationCounts = NO_EVALUATION
) -> tuple[CriteriaGroup, ...]:
    """Group the criteria that depend on each other, and find what each group's criteria can meet together.

    `counts`: sizes of the evaluation data, of which shares are multiples. Raises `UnknownMetric`.
    """
    by_value: dict[str, list[int]] = {}
    with_terms: list[int] = []
    for position, criterion in enumerate(criteria):
        supplied = supplied_evaluation(criterion)
        if "required_keywords" in supplied and len(with_terms) < MAX_ENUMERATED:
            with_terms.append(position)
        else:
            by_value.setdefault(_variable(criterion, supplied, position, catalog, counts), []).append(position)
    by_tests = by_value.pop(_TESTS_VARIABLE, [])
    numeric = [_by_value(criteria, positions, catalog, counts) for positions in by_value.values()]
    numeric += [_by_tests(criteria, by_tests, counts.tests)] if by_tests else []
    return (*numeric, *([_by_terms(criteria, with_terms)] if with_terms else []))


def enumerate_feasible_combinations(groups: Sequence[CriteriaGroup], criteria_count: int) -> Iterator[Met]:
    """Yield each combination of met criteria that a candidate can reach, by one combination of each group."""
    ways = [{*each.together, *([(False,) * len(each.positions)] if each.can_be_missing else [])} for each in groups]
    for choice in product(*map(sorted, ways)):
        met = [False] * criteria_count
        for group, flags in zip(groups, choice, strict=True):
            for position, flag in zip(group.positions, flags, strict=True):
                met[position] = flag
        yield tuple(met)


def _variable(
    criterion: SuccessCriterion,
    supplied: Mapping[str, Any],
    position: int,
    catalog: Catalog,
    counts: EvaluationCounts,
) -> str:
    if supplied:
        return f"{criterion.metric}\0{position}"
    if criterion.metric in BY_TESTS and counts.tests:
        return _TESTS_VARIABLE
    # Recall weighted by class, and F1 over all decisions, are the accuracy.
    is_accuracy = criterion.metric in BY_LABELS and catalog.sources[criterion.metric] == "classification"
    return "accuracy" if is_accuracy else criterion.metric


def _by_value(
    criteria: Sequence[SuccessCriterion], positions: Sequence[int], catalog: Catalog, counts: EvaluationCounts
) -> CriteriaGroup:
    sharing = [criteria[position] for position in positions]
    pairs = [(each, catalog.entry(each.metric)) for each in sharing]
    entry = counts.narrow_range(pairs[0][1])
    is_own_code = is_custom_metric(entry.name)
    grids = _grids(sharing, entry, counts)
    numbers = {value: None for items in grids for value in _numbers(sharing, entry, items)}
    has_flags = any(map(is_boolean_criterion, sharing)) and not is_share_and_boolean(entry)
    values = [*numbers, *([True, False] if has_flags else [])]
    met_by_value = [tuple(_is_met(*each, value) for each in pairs) for value in values]
    if is_own_code:  # an invalid value for any of them makes the verdict indeterminate
        met_by_value = [met for met in met_by_value if None not in met]
    return CriteriaGroup(
        positions=tuple(positions),
        together=frozenset(tuple(map(bool, met)) for met in met_by_value),
        can_be_missing=entry.provenance is not Provenance.MEASURED and not is_own_code,
    )


def _by_tests(criteria: Sequence[SuccessCriterion], positions: Sequence[int], total: int) -> CriteriaGroup:
    """Return the group of all criteria on hidden tests, which depend on the number of passed tests alone."""
    sharing = [criteria[position] for position in positions]
    together = frozenset(
        tuple(is_met(each, by_metric[each.metric]) for each in sharing) for by_metric in list_test_metric_values(total)
    )
    return CriteriaGroup(tuple(positions), together, can_be_missing=True)


def _is_met(criterion: SuccessCriterion, entry: MetricEntry, raw: bool | float) -> bool | None:
    """Return True if the value meets the criterion, False if not, and None for an invalid value."""
    value = to_flag_if_boolean(criterion, to_fraction_if_custom_percent(criterion, raw), entry)
    return is_met(criterion, value) if find_value_problem(criterion, value, entry) is None else None


def _grids(sharing: Sequence[SuccessCriterion], entry: MetricEntry, counts: EvaluationCounts) -> tuple[int | None, ...]:
    """Return the possible denominators of the metric's value: 1 for integers, None for any value."""
    if is_custom_metric(entry.name):
        return (1 if any(each.metric_type is MetricType.COUNT for each in sharing) else None,)
    if MetricType.COUNT in entry.metric_types:  # a metric that may also be a share is not always an integer
        return (1, None) if MetricType.PERCENTAGE in entry.metric_types else (1,)
    return (counts.denominator(entry.name),)


def _numbers(sharing: Sequence[SuccessCriterion], entry: MetricEntry, items: int | None) -> Iterator[float]:
    """Yield values at, just beside and between all thresholds, within the metric's range.

    With `items` they are multiples of 1/items near those.
    """
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
            for point in {float(bound), float(to_fraction_if_percent(criterion, bound))}:
                yield from {point - reach, point, point + reach}


Demand = tuple[bool, frozenset[str]]
"""Required terms of a criterion, after True if it requires all of them, or False if any one is enough."""


def _by_terms(criteria: Sequence[SuccessCriterion], positions: Sequence[int]) -> CriteriaGroup:
    demands = [_demand(criteria[position]) for position in positions]
    return CriteriaGroup(
        positions=tuple(positions),
        together=frozenset(met for met in product((False, True), repeat=len(demands)) if _is_consistent(demands, met)),
        can_be_missing=True,
    )


def _demand(criterion: SuccessCriterion) -> Demand:
    terms = normalize_distinct_terms(supplied_evaluation(criterion)["required_keywords"])
    return criterion.comparison.value == "contains_all", frozenset(terms)


def _is_consistent(demands: Sequence[Demand], met: Met) -> bool:
    """Return True if some text gives exactly these verdicts.

    A met demand for all terms, and an unmet demand for any, decide whether each of their terms occurs. The opposite
    verdicts need only one of their terms. Once the other terms of such a demand are decided against it, the last one is
    decided too. This is repeated until nothing more follows.
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
