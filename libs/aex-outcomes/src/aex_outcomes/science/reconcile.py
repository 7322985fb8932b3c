"""Comparison of claimed values with recomputed ones, name by name (spec file 4)."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from aex_models.examination import DataOwner, MismatchSeverity, Recomputed, Reconciliation, ReconciliationStatus
from aex_models.numbers import is_number, text_of
from aex_models.statistics import Statistic, StatisticSpec

TOLERANCE = 0.01
"""Relative error up to which a claim matches, unless its specification sets another one."""
_MINOR, _MAJOR = 0.05, 0.5
_EDGE = 1 + 1e-12
"""Slack for rounding: 1.05 for 1 is 5 % off, though the nearest double is 5.000000000000004 % off."""
_DECIMAL_SLACK = Decimal("1e-9")
"""Rounding error of a claim computed in doubles, relative to half a unit of its last decimal."""
_ZERO = Fraction(1, 10**9)
"""Share of max|x| that a claim of 0 may stand for."""
_NOISE = Fraction(1, 10**13)
"""Share of max|x| that rounding leaves of cancelling summands: 1.85e-17 and 9e-18 both mean 0."""
_CANCELLING = frozenset({Statistic.MEAN, Statistic.SUM})
_COUNTS = frozenset({Statistic.COUNT, Statistic.N_UNIQUE})


@dataclass(frozen=True, slots=True)
class RoundingScale:
    """Limits in the unit of a statistic. By default only 0 matches 0, without rounding noise."""

    zero: float = 0.0
    """Largest |value| that may be claimed to be 0."""
    noise: float = 0.0
    """Difference between results of the same sums by rounding alone; 0 where no summands cancel."""


def reconcile(
    claims: Mapping[str, Any],
    recomputed: Iterable[Recomputed] | Mapping[str, float],
    specs: Iterable[StatisticSpec] = (),
    *,
    scales: Mapping[str, RoundingScale] | None = None,
) -> tuple[Reconciliation, ...]:
    """Return a reconciliation of every name that is specified, recomputed or claimed, in this order.

    `claims`: numbers; a `JsonFloat` claims as many decimals as its text has. `scales`: limits for a claim of 0 and the
    rounding noise by name; without, only 0 matches 0. `recomputed` may be a mapping of plain values.
    A claim that is no finite number is a critical mismatch.
    """
    if isinstance(recomputed, Mapping):
        values = recomputed.items()
        recomputed = [Recomputed(name=n, value=each, owner=DataOwner.AGENT, artifact="") for n, each in values]
    known = {each.name: each for each in recomputed}
    tolerances = {each.name: each.tolerance for each in specs}
    names = dict.fromkeys([*tolerances, *known, *claims])
    return tuple(
        _reconcile_one(
            name, claims.get(name), name in claims, known.get(name), tolerances.get(name, TOLERANCE),
            (scales or {}).get(name, RoundingScale()),
        )
        for name in names
    )  # fmt: skip


def _reconcile_one(
    name: str, claim: Any, is_claimed: bool, found: Recomputed | None, tolerance: float, scale: RoundingScale
) -> Reconciliation:
    claimed = float(claim) if is_number(claim) else None
    actual = found.value if found else None
    secret = found is not None and found.owner is DataOwner.CONSUMER
    reconciliation = Reconciliation(
        name=name, status=ReconciliationStatus.NOT_CLAIMED, claimed=claimed, recomputed=actual, secret=secret
    )
    if not is_claimed:
        return reconciliation
    if actual is None:
        return reconciliation.model_copy(update={"status": ReconciliationStatus.NOT_RECOMPUTED})
    if claimed is not None and _matches(claim, claimed, actual, tolerance, scale):
        status, severity = ReconciliationStatus.MATCH, None
    else:
        status, severity = ReconciliationStatus.MISMATCH, severity_of(claimed, actual)
    error = _relative_error(claimed, actual)
    return reconciliation.model_copy(update={"status": status, "severity": severity, "relative_error": error})


def _relative_error(claimed: float | None, actual: float) -> float | None:
    """Return |claimed − actual| / |actual|; None if it is no finite number."""
    if claimed is None or actual == 0:
        return 0.0 if claimed == actual else None
    error = abs(claimed / actual - 1) if abs(claimed) > 1e300 else abs(claimed - actual) / abs(actual)
    return error if math.isfinite(error) else None


def severity_of(claimed: float | None, actual: float) -> MismatchSeverity:
    """Return the severity of a mismatch: critical for another sign, for a zero, and for no number."""
    error = _relative_error(claimed, actual)
    if claimed is None or error is None or error > _MAJOR * _EDGE or math.copysign(1, claimed * actual) < 0:
        return MismatchSeverity.CRITICAL
    return MismatchSeverity.MINOR if error <= _MINOR * _EDGE else MismatchSeverity.MAJOR


def _matches(claim: int | float, claimed: float, actual: float, tolerance: float, scale: RoundingScale) -> bool:
    if claimed == 0:
        return abs(actual) <= scale.zero
    if abs(claimed - actual) <= scale.noise:
        return True  # for example 5e-17 for the mean of values with sum 0
    error = _relative_error(claimed, actual)
    return (error is not None and error <= tolerance * _EDGE) or _rounds_to(claim, actual)


def _rounds_to(claim: int | float, actual: float) -> bool:
    """Return True if the value rounds to the claim at the claim's own decimals.

    A claim needs two significant digits. 1.2e5 has no decimals, as 120000 has none.
    """
    written = Decimal(text_of(claim))
    _, digits, exponent = written.as_tuple()
    if len(digits) < 2 or not isinstance(exponent, int):
        return False
    decimals = max(0, -exponent)
    with localcontext(prec=1_200):  # exact: a double has at most 767 significant digits
        half = Decimal((0, (5,), -decimals - 1))
        return abs(Decimal(actual) - written) <= half * (1 + _DECIMAL_SLACK)


def column_scale(stat: Statistic, largest: float, count: int) -> RoundingScale:
    """Return the scale of a statistic of `count` values with max|x| `largest`.

    The zero of a variance, too, is in the unit of the values.
    """
    if stat in _COUNTS:
        return RoundingScale()
    noise = _NOISE * Fraction(largest) if stat in _CANCELLING else Fraction()
    return RoundingScale(_double(_ZERO * Fraction(largest)), _double(noise * count if stat is Statistic.SUM else noise))


def pair_scale(ratio: Fraction | None = None) -> RoundingScale:
    """Return the scale of a correlation, or of a slope.

    `ratio` of a slope: the largest deviation of y from its mean over that of x.
    """
    unit = Fraction(1) if ratio is None else ratio
    return RoundingScale(_double(_ZERO * unit), _double(_NOISE * unit))


def _double(value: Fraction) -> float:
    """Return the nearest double; infinity beyond all doubles."""
    try:
        return float(value)
    except OverflowError:
        return math.inf
