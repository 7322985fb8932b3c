"""Claimed values held to the ranges of their domain and to what the consumer expects of them (spec file 4)."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from aex_models.domains import Domain, ValueRange
from aex_models.examination import DomainViolation
from aex_models.science import Constraint
from aex_outcomes.science.domains.quantities import Kind, Meaning, meaning_of, quantities

DOMAIN, OUTPUT_CONSTRAINTS = "domain", "output_constraints"
_LOST = 1e-12
"""What arithmetic in doubles may lose at an end of a domain's range: a correlation of 1.0000000000000002 is 1."""


@dataclass(frozen=True, slots=True)
class RangeCheck:
    """What came of it. A claim is counted in `in_range`, or named in `unchecked`, or of a quantity without bounds."""

    violations: tuple[DomainViolation, ...]
    in_range: int
    """Claims that were held to something, violated or not."""
    unchecked: tuple[str, ...]
    """Claims of which no range and no constraint says anything. That a quantity is unbounded is a word too."""


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Where a value has to lie. `what`: in words, for the message."""

    low: float | None
    high: float | None
    what: str
    source: str
    unit: str = ""
    slack: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether there is any finite number that they rule out."""
        return self.low is not None or self.high is not None

    def violated_by(self, value: float) -> bool:
        below = self.low is not None and value < self.low - self.slack * max(1.0, abs(self.low))
        above = self.high is not None and value > self.high + self.slack * max(1.0, abs(self.high))
        return below or above

    def told(self, value: float) -> str:
        unit = f" {self.unit}" if self.unit else ""
        if self.low is not None and self.high is not None:
            return f"{_text(value)}{unit} is outside [{self.low:.10g}, {self.high:.10g}]{unit}, {self.what}"
        end, word = (self.low, "below") if self.low is not None else (self.high, "above")
        return f"{_text(value)}{unit} is {word} {end or 0.0:.10g}{unit}, the end of {self.what}"


def check_claims(claims: Mapping[str, Any], domain: Domain | None, constraints: Mapping[str, Constraint]) -> RangeCheck:
    """Hold each claim to the domain's range of its quantity, and to the constraint of exactly its name; both apply.

    How a name tells its quantity: see `domains.quantities`. A mean, a median, a quantile, the least and the greatest
    lie where the values lie; what values in [min, max] imply holds of the rest: a standard deviation lies in
    [0, (max - min)/√2], which a sample of two reaches, a variance in the square of that, an interquartile range in
    [0, max - min], an absolute value below the larger |end|. Counts of a ranged quantity are whole and not negative;
    being so does not make them checked. A claim that only unbounded ranges speak for is neither checked nor unchecked.
    What is no finite number (a boolean is none) is a violation under any name.
    """
    known = quantities(domain) if domain is not None else {}
    violations: list[DomainViolation] = []
    unchecked: list[str] = []
    held = 0
    for name, claimed in claims.items():
        meaning = meaning_of(name, domain, known) if domain is not None else None
        value = _finite(claimed)
        if value is None:
            source = OUTPUT_CONSTRAINTS if meaning is None and name in constraints else DOMAIN
            violations.append(DomainViolation(name=name, message="it is no finite number", source=source))
            held += 1
            continue
        bounds = list(_bounds(name, meaning, domain, constraints))
        found = [_violation(name, value, each) for each in bounds if each.violated_by(value)]
        if meaning is not None and meaning.kind is Kind.COUNT and not (value >= 0 and value.is_integer()):
            message = f"{_text(value)} is no count: a whole number, not negative"
            found.append(DomainViolation(name=name, message=message, value=value, min=0.0, source=DOMAIN))
        violations += found
        if found or any(each.holds for each in bounds):
            held += 1
        elif not any(each.source == DOMAIN for each in bounds):
            unchecked.append(name)
    return RangeCheck(tuple(violations), held, tuple(unchecked))


def _bounds(
    name: str, meaning: Meaning | None, domain: Domain | None, constraints: Mapping[str, Constraint]
) -> Iterator[_Bounds]:
    if meaning is not None and domain is not None and meaning.kind is not Kind.COUNT:
        yield _of_domain(meaning, domain.name)
    constraint = constraints.get(name)
    if constraint is not None:
        yield _Bounds(constraint.min, constraint.max, "what the work expects", OUTPUT_CONSTRAINTS)


def _of_domain(meaning: Meaning, domain: str) -> _Bounds:
    low, high = _implied(meaning.kind, meaning.range)
    quantity = meaning.quantity if meaning.kind is Kind.VALUE else f"the {meaning.kind.value} of {meaning.quantity}"
    unit = f"({meaning.range.unit})²" if meaning.kind is Kind.VARIANCE and meaning.range.unit else meaning.range.unit
    return _Bounds(low, high, f"the range of {quantity} in {domain}", DOMAIN, unit, _LOST)


def _implied(kind: Kind, of: ValueRange) -> tuple[float | None, float | None]:
    """Where a statistic lies of values that lie in the range."""
    if kind is Kind.VALUE:
        return of.min, of.max
    if of.min is None or of.max is None:
        return 0.0, None
    width = of.max - of.min
    highest = {
        Kind.ABSOLUTE: max(abs(of.min), abs(of.max)),
        Kind.DEVIATION: width / math.sqrt(2),
        Kind.VARIANCE: width**2 / 2,
    }
    return 0.0, highest.get(kind, width)


def _violation(name: str, value: float, bounds: _Bounds) -> DomainViolation:
    return DomainViolation(
        name=name, message=bounds.told(value), value=value, min=bounds.low, max=bounds.high, source=bounds.source
    )


def _finite(claimed: Any) -> float | None:
    """The claim as a double; None for NaN, infinities, what no double holds, and what is no number."""
    if isinstance(claimed, bool) or not isinstance(claimed, int | float):
        return None
    try:
        value = float(claimed)
    except OverflowError:
        return None
    return value if math.isfinite(value) else None


def _text(value: float) -> str:
    return repr(float(value)).removesuffix(".0")
