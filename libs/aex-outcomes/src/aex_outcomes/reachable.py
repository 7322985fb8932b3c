"""Which criteria can be met together: the basis of the quote and of the linter.

Criteria on one metric share one value; those whose thresholds bring terms share one text. All others are taken as
independent. Values are tried out with the engine's own comparisons, at and around every threshold.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

from aex_models.catalog import MetricEntry
from aex_models.criteria import SuccessCriterion
from aex_models.numbers import is_number
from aex_models.results import Provenance
from aex_models.thresholds import MetricType
from aex_outcomes.catalog import Catalog, supplied_by
from aex_outcomes.custom_names import is_custom
from aex_outcomes.engine.comparing import (
    EQUALITY_TOLERANCE,
    in_fractions,
    is_boolean,
    meets,
    scaled,
    value_problem,
)
from aex_outcomes.extent import BY_LABELS, BY_TERMS, NOTHING, Extent
from aex_outcomes.kernels.keywords import distinct_terms

MAX_ENUMERATED = 10
"""Criteria up to which all combinations are enumerated (2¹⁰)."""

Met = tuple[bool, ...]
_SAME = {"recall": "accuracy"}
"""Weighted by class, the recall is the accuracy."""


@dataclass(frozen=True, slots=True)
class Group:
    """Criteria that depend on one another: the positions they have, and how they can be met while there is a value."""

    positions: tuple[int, ...]
    together: frozenset[Met]
    can_be_missing: bool
    """Without a value none is met. Of what the platform measures, and of what the consumer's own code computes,
    a missing value costs nobody anything."""

    @property
    def all_together(self) -> frozenset[Met]:
        """How they can be met in an outcome that is judged."""
        nothing = frozenset({(False,) * len(self.positions)}) if self.can_be_missing else frozenset()
        return self.together | nothing


def groups(criteria: Sequence[SuccessCriterion], catalog: Catalog, extent: Extent = NOTHING) -> tuple[Group, ...]:
    """The criteria in groups that are independent of each other.

    With evaluation data, shares are tried at the fractions that their number of items allows.
    """
    by_value: dict[str, list[int]] = {}
    with_terms: list[int] = []
    for position, criterion in enumerate(criteria):
        brought = supplied_by(criterion)
        if "required_keywords" in brought and len(with_terms) < MAX_ENUMERATED:
            with_terms.append(position)
        else:
            by_value.setdefault(_variable(criterion, brought, position, catalog), []).append(position)
    numeric = [_by_value(criteria, positions, catalog, extent) for positions in by_value.values()]
    return (*numeric, *([_by_terms(criteria, with_terms)] if with_terms else []))


def combinations(found: Sequence[Group], count: int) -> Iterator[Met]:
    """Every way in which `count` criteria can be met in a judged outcome."""
    for choice in product(*(sorted(group.all_together) for group in found)):
        met = [False] * count
        for group, flags in zip(found, choice, strict=True):
            for position, flag in zip(group.positions, flags, strict=True):
                met[position] = flag
        yield tuple(met)


def _variable(criterion: SuccessCriterion, brought: Mapping[str, Any], position: int, catalog: Catalog) -> str:
    if brought:
        return f"{criterion.metric}\0{position}"
    if catalog.sources[criterion.metric] == "classification":
        return _SAME.get(criterion.metric, criterion.metric)
    return criterion.metric


def _by_value(
    criteria: Sequence[SuccessCriterion], positions: Sequence[int], catalog: Catalog, extent: Extent
) -> Group:
    sharing = [criteria[position] for position in positions]
    held = [(each, catalog.entry(each.metric)) for each in sharing]
    entry = held[0][1]
    own_code = is_custom(entry.name)
    grids = _grids(entry, extent) if not own_code else (_items_of_custom(sharing),)
    numbers = {value: None for items in grids for value in _numbers(sharing, entry, items)}
    tried = [*numbers, *([True, False] if any(map(is_boolean, sharing)) else [])]
    if own_code:  # a value that one of them cannot take makes the whole verdict indeterminate
        tried = [value for value in tried if not any(_is_problem(*each, value) for each in held)]
    return Group(
        positions=tuple(positions),
        together=frozenset(tuple(_is_met(*each, value) for each in held) for value in tried),
        can_be_missing=entry.provenance is not Provenance.MEASURED and not own_code,
    )


def _is_met(criterion: SuccessCriterion, entry: MetricEntry, raw: bool | float) -> bool:
    value = in_fractions(criterion, raw)
    return value_problem(criterion, value, entry) is None and meets(criterion, value)


def _is_problem(criterion: SuccessCriterion, entry: MetricEntry, raw: bool | float) -> bool:
    return value_problem(criterion, in_fractions(criterion, raw), entry) is not None


def _grids(entry: MetricEntry, extent: Extent) -> tuple[int | None, ...]:
    """Of how many parts the value can be a count (1 for counts); None for a value that can be anything."""
    if MetricType.COUNT in entry.metric_types:  # what may be taken for a share too is not always whole
        return (1, None) if MetricType.PERCENTAGE in entry.metric_types else (1,)
    if entry.name in BY_LABELS:
        return (extent.labels or None,)
    if entry.name == BY_TERMS:
        return (extent.terms or None,)
    return (None,)


def _items_of_custom(sharing: Sequence[SuccessCriterion]) -> int | None:
    """What a consumer's code returns can be anything, unless a criterion takes it for a count."""
    return 1 if any(each.metric_type is MetricType.COUNT for each in sharing) else None


def _numbers(sharing: Sequence[SuccessCriterion], entry: MetricEntry, items: int | None) -> Iterator[float]:
    """Values at, just beside and between all thresholds, within the metric's range."""
    low, high = entry.range
    points = sorted(
        {float(each) for each in _points(sharing)} | {end for end in (low, high, 0.0, 1.0) if end is not None}
    )
    between = [(left + right) / 2 for left, right in pairwise(points)]
    beside = [math.nextafter(point, way) for point in points for way in (-math.inf, math.inf)]
    candidates = {*points, *between, *beside, points[0] - 1, points[-1] + 1}
    for value in _on_grid(candidates, items) if items else sorted(candidates):
        if (low is None or value >= low) and (high is None or value <= high):
            yield value


def _on_grid(candidates: Iterable[float], items: int) -> list[float]:
    """The fractions k/items around each candidate; a whole number stays one."""
    counts = {math.floor(value * items) + step for value in candidates for step in (-1, 0, 1, 2)}
    return sorted(count / items for count in counts)


def _points(sharing: Sequence[SuccessCriterion]) -> Iterator[float]:
    for criterion in sharing:
        threshold = criterion.threshold
        for bound in threshold.values() if isinstance(threshold, Mapping) else [threshold]:
            if not is_number(bound):
                continue
            reach = EQUALITY_TOLERANCE if criterion.comparison.value in {"eq", "neq"} else 0
            for point in {float(bound), float(scaled(criterion, bound))}:
                yield from {point - reach, point, point + reach}


Demand = tuple[bool, frozenset[str]]
"""Whether all of some terms are asked for, or any; and the terms."""


def _by_terms(criteria: Sequence[SuccessCriterion], positions: Sequence[int]) -> Group:
    demands = [(criteria[each].comparison.value == "contains_all", _terms(criteria[each])) for each in positions]
    return Group(
        positions=tuple(positions),
        together=frozenset(met for met in product((False, True), repeat=len(demands)) if _consistent(demands, met)),
        can_be_missing=True,
    )


def _terms(criterion: SuccessCriterion) -> frozenset[str]:
    return frozenset(distinct_terms(supplied_by(criterion)["required_keywords"]))


def _consistent(demands: Sequence[Demand], met: Met) -> bool:
    """Whether one text can have and lack the terms that these verdicts imply.

    `all` met and `any` unmet settle all their terms. The opposite verdicts need one term of theirs: where all others
    are settled against it, the last one is settled too, until nothing more follows.
    """
    pairs = list(zip(demands, met, strict=True))
    there = {term for (every, terms), is_met in pairs if every and is_met for term in terms}
    lacking = {term for (every, terms), is_met in pairs if not every and not is_met for term in terms}
    while not there & lacking:
        before = len(there) + len(lacking)
        for (every, terms), is_met in pairs:
            if every is is_met:
                continue
            needed, against = (lacking, there) if every else (there, lacking)
            open_terms = terms - against
            if not open_terms:
                return False
            if len(open_terms) == 1:
                needed |= open_terms
        if len(there) + len(lacking) == before:
            return True
    return False
