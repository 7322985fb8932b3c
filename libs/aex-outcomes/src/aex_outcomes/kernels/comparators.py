"""Comparators of record fields, which decide what delivered values agree with the expected ones."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, partial
from itertools import accumulate
from typing import Any, Protocol

from aex_models.grader_data import Comparator, DateComparator, FuzzyComparator, NumberComparator
from aex_models.numbers import is_finite_number
from aex_outcomes.kernels.forms import (
    DateFormConverter,
    Form,
    Incomparable,
    TimeBudget,
    to_case_folded_form,
    to_exact_form,
    to_set_form,
)

_NS_PER_COMPARISON, _NS_PER_64_CELLS, _NS_PER_64_CELLS_OF_ANY_SCRIPT = 200, 1.5, 12.0
"""Nanoseconds of rapidfuzz, measured; its time grows with the product of both lengths (the cells)."""
_ROUNDING = 1e-12
"""Allowance for rounding of a similarity, which is a multiple of 1 / total length."""
FindAgreeing = Callable[[Form], Iterable[Form]]
"""Function that returns the delivered forms that agree with an expected one."""


class FieldComparator(Protocol):
    """Comparator of one field's values. Its methods raise `TooMuchToCompare` if they exceed its budget."""

    def to_form(self, value: Any) -> Form:
        """Return the form of a value that is not null; an `Incomparable` if the comparator cannot compare it."""
        ...

    def agree(self, expected: Form, delivered: Form) -> bool:
        """Return True if the two forms agree; neither is None."""
        ...

    def index(self, delivered: Collection[Form]) -> FindAgreeing:
        """Return a function that finds those of the delivered forms that agree with an expected one."""
        ...


def build_comparator(specification: Comparator, budget: TimeBudget) -> FieldComparator:
    """Return the comparator that a field's specification describes, which spends from the budget."""
    if isinstance(specification, NumberComparator):
        tolerances = specification.number
        return ToleranceComparator(Decimal(repr(tolerances.abs)), Decimal(repr(tolerances.rel)))
    if isinstance(specification, FuzzyComparator):
        return SimilarityComparator(max(0.0, specification.fuzzy - _ROUNDING), budget)
    if isinstance(specification, DateComparator):
        return EqualityComparator(DateFormConverter(tuple(specification.date), budget))
    to_form = {"exact": to_exact_form, "casefold": to_case_folded_form, "set": to_set_form}[specification]
    return EqualityComparator(partial(to_form, budget))


@dataclass(frozen=True, slots=True)
class EqualityComparator:
    """Comparator of values that agree if their forms are equal."""

    to_form: Callable[[Any], Form]

    def agree(self, expected: Form, delivered: Form) -> bool:
        return expected == delivered

    def index(self, delivered: Collection[Form]) -> FindAgreeing:
        return lambda expected: (expected,) if expected in delivered else ()


@dataclass(frozen=True, slots=True)
class ToleranceComparator:
    """Comparator of numbers, which agree within the larger of two tolerances."""

    absolute: Decimal
    relative: Decimal
    """Tolerance as a share of the expected number."""

    def to_form(self, value: Any) -> Form:
        return Decimal(repr(value)) if is_finite_number(value) else Incomparable()

    def agree(self, expected: Form, delivered: Form) -> bool:
        if not (isinstance(expected, Decimal) and isinstance(delivered, Decimal)):
            return False
        return abs(expected - delivered) <= self._tolerance(expected)

    def index(self, delivered: Collection[Form]) -> FindAgreeing:
        numbers = sorted(each for each in delivered if isinstance(each, Decimal))

        def find(expected: Form) -> Iterable[Form]:
            if not isinstance(expected, Decimal):
                return ()
            tolerance = self._tolerance(expected)
            near = numbers[bisect_left(numbers, expected - tolerance) : bisect_right(numbers, expected + tolerance)]
            return (each for each in near if self.agree(expected, each))

        return find

    def _tolerance(self, expected: Decimal) -> Decimal:
        return max(self.absolute, self.relative * abs(expected))


@dataclass(frozen=True, slots=True)
class SimilarityComparator:
    """Comparator of texts, which agree from a similarity on: 1/100 of rapidfuzz's `fuzz.ratio`."""

    least: float
    budget: TimeBudget

    def to_form(self, value: Any) -> Form:
        return value if isinstance(value, str) else Incomparable()

    def agree(self, expected: Form, delivered: Form) -> bool:
        if not (isinstance(expected, str) and isinstance(delivered, str)):
            return False
        if expected == delivered or not self.least:
            return True
        lengths = (len(expected), len(delivered))
        if 2 * min(lengths) < self.least * sum(lengths):
            return False
        is_ascii = expected.isascii() and delivered.isascii()
        self.budget.spend(estimate_similarity_ns(math.prod(lengths), 1, is_ascii=is_ascii))
        similarity: float = _load_similarity()[0](expected, delivered, score_cutoff=_cutoff(self.least))
        return similarity >= self.least

    def index(self, delivered: Collection[Form]) -> FindAgreeing:
        texts = sorted((each for each in delivered if isinstance(each, str)), key=len)
        lengths = [len(each) for each in texts]
        ends = list(accumulate(lengths, initial=0))
        is_ascii = all(each.isascii() for each in texts)

        def find(expected: Form) -> Iterable[Form]:
            if not isinstance(expected, str) or not self.least:
                return texts if isinstance(expected, str) else ()
            # A similarity is at most twice the shorter length by the sum of both.
            ratio = (2 - self.least) / self.least
            first = bisect_left(lengths, int(len(expected) / ratio))
            last = bisect_right(lengths, int(len(expected) * ratio) + 1)
            cells = len(expected) * (ends[last] - ends[first])
            estimate = estimate_similarity_ns(cells, last - first, is_ascii=is_ascii and expected.isascii())
            self.budget.spend(estimate)
            return _find_similar(expected, texts[first:last], self.least)

        return find


def estimate_similarity_ns(cells: int, comparisons: int, *, is_ascii: bool) -> float:
    """Return the estimated nanoseconds of similarities.

    `cells`: sum of the products of the two texts' lengths. `is_ascii`: all texts are ASCII, which is faster.
    """
    by_64 = _NS_PER_64_CELLS if is_ascii else _NS_PER_64_CELLS_OF_ANY_SCRIPT
    return _NS_PER_COMPARISON * comparisons + by_64 / 64 * cells


def _find_similar(expected: str, texts: Sequence[str], least: float) -> list[str]:
    normalized_similarity, extract = _load_similarity()
    found = extract(expected, texts, scorer=normalized_similarity, score_cutoff=_cutoff(least), limit=None)
    return [text for text, similarity, _ in found if similarity >= least]


def _cutoff(least: float) -> float:
    """Return a cut-off for rapidfuzz, which rounds: 0.55 as cut-off drops pairs with a similarity of 0.55."""
    return max(0.0, least - 1e-4)


@cache
def _load_similarity() -> tuple[Any, Any]:
    """Return rapidfuzz's similarity, and its search for similar texts."""
    from rapidfuzz.distance import Indel  # noqa: PLC0415 works are checked without it
    from rapidfuzz.process import extract  # noqa: PLC0415 see above

    return Indel.normalized_similarity, extract
