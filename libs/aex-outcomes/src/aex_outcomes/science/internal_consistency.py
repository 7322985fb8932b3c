"""Comparison of claims about one quantity with each other: no data are needed (spec file 17)."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from aex_models.examination import INTERNAL_CONSISTENCY, DomainViolation
from aex_models.numbers import format_as_written, is_finite_number
from aex_models.statistics import Statistic
from aex_outcomes.science.domains.quantities import split_into_words

_TOLERANCE = 0.01
_EDGE = 1e-12
"""Relative slack for rounding in doubles."""
_WORDS: Mapping[str, Statistic] = {
    **dict.fromkeys(("mean", "average", "avg"), Statistic.MEAN),
    "median": Statistic.MEDIAN,
    **dict.fromkeys(("min", "minimum"), Statistic.MIN),
    **dict.fromkeys(("max", "maximum"), Statistic.MAX),
    **dict.fromkeys(("std", "sd", "stdev", "stddev"), Statistic.STD),
    **dict.fromkeys(("var", "variance"), Statistic.VAR),
    **dict.fromkeys(("sum", "total"), Statistic.SUM),
    "count": Statistic.COUNT,
}
_SQUARED_WORDS = ({"r", "squared"}, {"r2"}, {"rsquared"})
_FILLER = "of"
_LONGEST_NAME = 300


@dataclass(frozen=True, slots=True)
class _Claim:
    """A claimed number; by rounding at its own decimals it stands for all numbers from `low` to `high`."""

    name: str
    value: float
    low: float
    high: float

    def square(self) -> "_Claim":
        ends = sorted((self.low * self.low, self.high * self.high))  # infinite, where ** would raise an error
        return _Claim(self.name, self.value * self.value, 0.0 if self.low < 0 < self.high else ends[0], ends[1])

    def multiply(self, other: "_Claim") -> "_Claim":
        ends = [one * two for one in (self.low, self.high) for two in (other.low, other.high)]
        return _Claim(self.name, self.value * other.value, min(ends), max(ends))


_Claims = dict[Statistic, list[_Claim]]
"""Claims of one quantity by statistic; a statistic has several where names differ in spelling."""


def find_inconsistent_claims(claims: Mapping[str, Any]) -> tuple[DomainViolation, ...]:
    """Return the claims that contradict another claim about the same quantity, by what its name says.

    Minimum, median, mean and maximum are ordered. A standard deviation and a variance are not negative. A variance is
    the squared deviation, a sum the mean times the count, and r² the square of Pearson's r, within 1 %. Claims with
    decimals may differ by rounding at these. Claims that are no finite number are left out.
    """
    quantities: dict[str, _Claims] = defaultdict(lambda: defaultdict(list))
    for name, value in claims.items():
        found = _parse_name(name)
        if found is not None and is_finite_number(value):
            quantity, statistic = found
            half = _half_unit(value)
            claim = _Claim(name, float(value), float(value) - half, float(value) + half)
            quantities[quantity][statistic].append(claim)
    return tuple(violation for each in quantities.values() for violation in _violations(each))


def _half_unit(value: int | float) -> float:
    """Return half a unit of the last decimal; 0 without decimals, and for one significant digit."""
    _, digits, exponent = Decimal(format_as_written(value)).as_tuple()
    if len(digits) < 2 or not isinstance(exponent, int) or exponent >= 0:
        return 0.0
    return float(Decimal((0, (5,), exponent - 1)))


def _parse_name(name: str) -> tuple[str, Statistic] | None:
    """Return quantity and statistic of a claim's name; None unless it names exactly one statistic."""
    if len(name) > _LONGEST_NAME:
        return None
    base, bracket, group = name.partition("[")  # `mean_fitness[condition=A]` is of one group
    words = [word for word in split_into_words(base) if word != _FILLER]
    for squared in _SQUARED_WORDS:
        if squared <= set(words):
            return _quantity(words, squared | {"pearson"}, bracket + group), Statistic.R_SQUARED
    if "pearson" in words:
        return _quantity(words, {"pearson", "r"}, bracket + group), Statistic.PEARSON
    named = [word for word in words if word in _WORDS]
    if len(named) != 1 or named[0] not in (words[0], words[-1]):
        return None
    return _quantity(words, set(named), bracket + group), _WORDS[named[0]]


def _quantity(words: list[str], statistic: set[str], group: str) -> str:
    return "".join(word for word in words if word not in statistic) + group


def _violations(claims: _Claims) -> Iterator[DomainViolation]:
    yield from _order_violations(claims)
    for claim in (*claims[Statistic.STD], *claims[Statistic.VAR]):
        if claim.value < 0:
            yield _violation(claim, f"{claim.value!r} is negative")
    products = [
        (each.multiply(count), f"{each.name} times {count.name}")
        for each in claims[Statistic.MEAN]
        for count in claims[Statistic.COUNT]
    ]
    for statistic, expected in (
        (Statistic.VAR, _squares(claims[Statistic.STD])),
        (Statistic.SUM, products),
        (Statistic.R_SQUARED, _squares(claims[Statistic.PEARSON])),
    ):
        for claim in claims[statistic]:
            other = next((each for each in expected if not _is_near(claim, each[0])), None)
            if other is not None:
                yield _violation(claim, f"{claim.value!r} is not {other[1]}, which is {other[0].value!r}")


def _squares(claims: list[_Claim]) -> list[tuple[_Claim, str]]:
    return [(each.square(), f"the square of {each.name}") for each in claims]


def _order_violations(claims: _Claims) -> Iterator[DomainViolation]:
    middle = (Statistic.MEDIAN, Statistic.MEAN)
    pairs = [
        *((Statistic.MIN, each) for each in (*middle, Statistic.MAX)),
        *((each, Statistic.MAX) for each in middle),
    ]
    for lower, upper in pairs:
        if not claims[upper]:
            continue
        least = min(claims[upper], key=lambda each: each.high)
        for claim in claims[lower]:
            if _exceeds(claim.low, least.high):
                yield _violation(claim, f"{claim.value!r} is above {least.name}, which is {least.value!r}")


def _exceeds(low: float, high: float) -> bool:
    return low > high + _EDGE * max(abs(low), abs(high))


def _is_near(claim: _Claim, expected: _Claim) -> bool:
    """Return True if a number that the claim stands for is within 1 % of one that is expected."""
    if not math.isfinite(expected.value):
        return False  # it is larger than any double, and no claim is
    slack = (_TOLERANCE + _EDGE) * abs(expected.value)
    return claim.low <= expected.high + slack and claim.high >= expected.low - slack


def _violation(claim: _Claim, message: str) -> DomainViolation:
    return DomainViolation(name=claim.name, message=message, value=claim.value, source=INTERNAL_CONSISTENCY)
