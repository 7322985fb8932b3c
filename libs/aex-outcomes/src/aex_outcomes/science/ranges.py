"""Comparison of claimed values with ranges of the domain and constraints of the work (spec file 4)."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from aex_models.domains import Domain, ValueRange
from aex_models.examination import DomainViolation
from aex_models.science import Constraint
from aex_outcomes.science.domains.quantities import (
    QuantityClaim,
    QuantityKind,
    find_claimed_quantity,
    index_quantities_by_name,
)

DOMAIN, OUTPUT_CONSTRAINTS = "domain", "output_constraints"
_ROUNDING_SLACK = 1e-12
"""Relative rounding error allowed at the ends of a domain's range: a correlation of 1.0000000000000002 is 1."""


@dataclass(frozen=True, slots=True)
class RangeCheck:
    """Result of `check_claims`.

    Each claim is counted in `in_range` or named in `unchecked`. A claim of a quantity that the domain declares
    unbounded is in neither.
    """

    violations: tuple[DomainViolation, ...]
    in_range: int
    """Number of claims that were compared with bounds, whether these were violated or not."""
    unchecked: tuple[str, ...]
    """Names of the claims that no range and no constraint covers."""


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Bounds of a value; None leaves an end open."""

    low: float | None
    high: float | None
    label: str
    """Description of the bounds for messages."""
    source: str
    """Source that a violation names: `domain` or `output_constraints`."""
    unit: str = ""
    slack: float = 0.0
    """Relative rounding error that is allowed beyond either end."""

    def excludes(self, value: float) -> bool:
        below = self.low is not None and value < self.low - self.slack * max(1.0, abs(self.low))
        above = self.high is not None and value > self.high + self.slack * max(1.0, abs(self.high))
        return below or above

    def make_violation(self, name: str, value: float) -> DomainViolation:
        unit = f" {self.unit}" if self.unit else ""
        if self.low is not None and self.high is not None:
            message = f"is outside [{self.low:.10g}, {self.high:.10g}]{unit}, {self.label}"
        else:
            end, word = (self.low, "below") if self.low is not None else (self.high, "above")
            message = f"is {word} {end or 0.0:.10g}{unit}, the end of {self.label}"
        message = f"{_text(value)}{unit} {message}"
        return DomainViolation(name=name, message=message, value=value, min=self.low, max=self.high, source=self.source)


def check_claims(claims: Mapping[str, Any], domain: Domain | None, constraints: Mapping[str, Constraint]) -> RangeCheck:
    """Compare each claim with the range of its quantity, and with the constraint of exactly its name.

    `domains.quantities` finds the quantity in a claim's name. Mean, median, quantile, minimum and maximum must lie in
    the range [min, max] of the values. The range also bounds:

    - a standard deviation by [0, (max - min)/√2], which a sample of two reaches, and a variance by the square of that;
    - an interquartile range by [0, max - min], and an absolute value by the larger of |min| and |max|.

    A count must be an integer and not negative; a correct count is listed in `unchecked`, unless a constraint has its
    name. A claim that is no finite number is a violation; a boolean is no number.
    """
    known = index_quantities_by_name(domain) if domain is not None else {}
    violations: list[DomainViolation] = []
    unchecked: list[str] = []
    checked = 0
    for name, claimed in claims.items():
        meaning = find_claimed_quantity(name, domain, known) if domain is not None else None
        value = _finite(claimed)
        if value is None:
            source = OUTPUT_CONSTRAINTS if meaning is None and name in constraints else DOMAIN
            violations.append(DomainViolation(name=name, message="it is no finite number", source=source))
            checked += 1
            continue
        bounds = list(_bounds(name, meaning, domain, constraints))
        found = [each.make_violation(name, value) for each in bounds if each.excludes(value)]
        if meaning is not None and meaning.kind is QuantityKind.COUNT and not (value >= 0 and value.is_integer()):
            message = f"{_text(value)} is no count: a whole number, not negative"
            found.append(DomainViolation(name=name, message=message, value=value, min=0.0, source=DOMAIN))
        violations += found
        if found or any((each.low, each.high) != (None, None) for each in bounds):
            checked += 1
        elif not any(each.source == DOMAIN for each in bounds):
            unchecked.append(name)
    return RangeCheck(tuple(violations), checked, tuple(unchecked))


def _bounds(
    name: str, meaning: QuantityClaim | None, domain: Domain | None, constraints: Mapping[str, Constraint]
) -> Iterator[_Bounds]:
    if meaning is not None and domain is not None and meaning.kind is not QuantityKind.COUNT:
        yield _domain_bounds(meaning, domain.name)
    constraint = constraints.get(name)
    if constraint is not None:
        yield _Bounds(constraint.min, constraint.max, "what the work expects", OUTPUT_CONSTRAINTS)


def _domain_bounds(meaning: QuantityClaim, domain: str) -> _Bounds:
    low, high = _implied_bounds(meaning.kind, meaning.range)
    quantity, unit = meaning.quantity, meaning.range.unit
    if meaning.kind is not QuantityKind.VALUE:
        quantity = f"the {meaning.kind.value} of {quantity}"
    if meaning.kind is QuantityKind.VARIANCE and unit:
        unit = f"({unit})²"
    return _Bounds(low, high, f"the range of {quantity} in {domain}", DOMAIN, unit, _ROUNDING_SLACK)


def _implied_bounds(kind: QuantityKind, value_range: ValueRange) -> tuple[float | None, float | None]:
    if kind is QuantityKind.VALUE:
        return value_range.min, value_range.max
    if value_range.min is None or value_range.max is None:
        return 0.0, None
    width = value_range.max - value_range.min
    highest = {
        QuantityKind.ABSOLUTE: max(abs(value_range.min), abs(value_range.max)),
        QuantityKind.DEVIATION: width / math.sqrt(2),
        QuantityKind.VARIANCE: width**2 / 2,
    }
    return 0.0, highest.get(kind, width)


def _finite(claimed: Any) -> float | None:
    """Return the claim as a double; None for NaN, an infinity, an overflow, and a value that is no number."""
    if isinstance(claimed, bool) or not isinstance(claimed, int | float):
        return None
    try:
        return float(claimed) if math.isfinite(claimed) else None
    except OverflowError:
        return None


def _text(value: float) -> str:
    return repr(float(value)).removesuffix(".0")
