"""Forms in which values of record fields are compared, and the budget of time for it.

Types are never converted: true is not 1, "1" is not 1, and 1.0 is 1. Operations whose time depends on the values' size
spend an estimate of it, so that values chosen by an agent cannot take long.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from aex_models.canonical import NotCanonical, canonical_bytes
from aex_models.numbers import is_finite_number
from aex_outcomes.kernels.dates import MAX_DATE_LENGTH, parse_date
from aex_outcomes.kernels.normalization import NormalizedTooLong, normalize

_MAX_NORMALIZED = 5_000_000
"""Maximum code points of a text after normalisation."""
_NS_PER_BYTE, _NS_PER_VALUE, _NS_PER_CHARACTER = 100, 2_000, 100
_NS_PER_ELEMENT, _NS_PER_FORMAT = 1_000, 12_000
"""Nanoseconds of conversions, measured with CPython 3.11 and rounded up."""


class TooMuchToCompare(ValueError):
    """Error of a comparison that would take more time than its budget."""


class TimeBudget:
    """Estimated time that comparisons may still take; estimates do not depend on the machine."""

    def __init__(self, nanoseconds: float) -> None:
        self._left = nanoseconds

    def spend(self, nanoseconds: float) -> None:
        """Subtract an estimate. Raises `TooMuchToCompare` if the budget is exceeded."""
        self._left -= nanoseconds
        if self._left < 0:
            raise TooMuchToCompare("the values are too long, or too many, to compare")


Form = Hashable
"""Value in the form in which it is compared; None for an absent value."""


class Incomparable:
    """Form of a value of the wrong kind, which agrees with no other value."""

    __slots__ = ()


def to_exact_form(budget: TimeBudget, value: Any) -> Form:
    """Return a form that two values share if they are equal in JSON. Raises `TooMuchToCompare`."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return (bool, value)
    if isinstance(value, int | float):
        return value if is_finite_number(value) else Incomparable()
    try:
        form = canonical_bytes(value)
    except NotCanonical:
        return Incomparable()
    budget.spend(_NS_PER_VALUE + _NS_PER_BYTE * len(form))
    return form


def to_case_folded_form(budget: TimeBudget, value: Any) -> Form:
    """Return a text in NFKC and case-folded; other values are compared exactly.

    Raises `TooMuchToCompare`.
    """
    if not isinstance(value, str):
        return to_exact_form(budget, value)
    if value.isascii():
        return value.lower()
    budget.spend(_NS_PER_VALUE + _NS_PER_CHARACTER * len(value))
    try:
        form = normalize(value, _MAX_NORMALIZED)
    except NormalizedTooLong as error:
        raise TooMuchToCompare(str(error)) from None
    budget.spend(_NS_PER_CHARACTER * max(len(form) - len(value), 0))
    return form


def to_set_form(budget: TimeBudget, value: Any) -> Form:
    """Return the different elements of a list, which are compared exactly. Raises `TooMuchToCompare`."""
    if not isinstance(value, list | tuple):
        return Incomparable()
    budget.spend(_NS_PER_ELEMENT * (1 + len(value)))
    return frozenset([to_exact_form(budget, each) for each in value])


@dataclass(frozen=True, slots=True)
class DateFormConverter:
    """Converter of texts to moments, for comparison; each different text is parsed once."""

    formats: tuple[str, ...]
    budget: TimeBudget
    parsed: dict[str, int | None] = field(default_factory=dict)

    def __call__(self, value: Any) -> Form:
        if not isinstance(value, str) or len(value) > MAX_DATE_LENGTH:
            return Incomparable()
        if value not in self.parsed:
            self.parsed[value], tried = parse_date(value, self.formats)
            self.budget.spend(_NS_PER_VALUE + _NS_PER_FORMAT * tried)
        moment = self.parsed[value]
        return Incomparable() if moment is None else moment
