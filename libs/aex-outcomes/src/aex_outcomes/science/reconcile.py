"""Comparison of claimed values with the recomputed values of the same names (spec file 4)."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from aex_models.examination import DataOwner, MismatchSeverity, Recomputed, Reconciliation, ReconciliationStatus
from aex_models.numbers import format_as_written, is_finite_number
from aex_models.statistics import Statistic, StatisticSpec

TOLERANCE = 0.01
"""Relative error up to which a claim matches, unless the statistic's specification sets another one."""
_MINOR, _MAJOR = 0.05, 0.5
_EDGE = 1 + 1e-12
"""Factor that allows for rounding at a limit: 1.05 instead of 1 is 5.000000000000004 % off in doubles."""
_DECIMAL_SLACK = Decimal("1e-9")
"""Rounding error of a claim computed in doubles, relative to half a unit of its last decimal."""
_ZERO = Fraction(1, 10**9)
"""Largest result that may be claimed to be 0, as a share of max|x|."""
_NOISE = Fraction(1, 10**13)
"""Rounding error of a sum whose summands cancel, as a share of max|x|: 1.85e-17 and 9e-18 both mean 0."""
_CANCELLING = frozenset({Statistic.MEAN, Statistic.SUM})
_COUNTS = frozenset({Statistic.COUNT, Statistic.N_UNIQUE})


@dataclass(frozen=True, slots=True)
class RoundingScale:
    """Rounding limits for comparing claims with one statistic, in its unit. By default only 0 matches 0."""

    zero: float = 0.0
    """Largest recomputed |value| that matches a claim of 0."""
    noise: float = 0.0
    """Largest difference that rounding alone explains; 0 for a statistic whose summands do not cancel."""


def reconcile(
    claims: Mapping[str, Any],
    recomputed: Iterable[Recomputed] | Mapping[str, float],
    specs: Iterable[StatisticSpec] = (),
    *,
    scales: Mapping[str, RoundingScale] | None = None,
) -> tuple[Reconciliation, ...]:
    """Compare each claimed value with the recomputed value of its name, and return one result per name.

    The names come from `specs`, `recomputed` and `claims`, in this order. A claim within the tolerance of its
    specification matches, and so does one that equals the value rounded to the claim's decimals. A `JsonFloat` has the
    decimals of its text. `scales`: rounding limits by name. `recomputed` may map names to plain values. A claim that is
    no finite number is a critical mismatch.
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
    claimed = float(claim) if is_finite_number(claim) else None
    actual = found.value if found else None
    secret = found is not None and found.is_secret
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
        status, severity = ReconciliationStatus.MISMATCH, classify_mismatch(claimed, actual)
    error = _relative_error(claimed, actual)
    return reconciliation.model_copy(update={"status": status, "severity": severity, "relative_error": error})


def _relative_error(claimed: float | None, actual: float) -> float | None:
    """Return |claimed − actual| / |actual|; None if that is no finite number or `claimed` is None."""
    if claimed is None or actual == 0:
        return 0.0 if claimed == actual else None
    error = abs(claimed / actual - 1) if abs(claimed) > 1e300 else abs(claimed - actual) / abs(actual)
    return error if math.isfinite(error) else None


def classify_mismatch(claimed: float | None, recomputed: float) -> MismatchSeverity:
    """Return a mismatch's severity by its relative error: minor to 5 %, major to 50 %, else critical.

    Another sign, a recomputed 0 and a claim that is no number (None) are critical.
    """
    error = _relative_error(claimed, recomputed)
    if claimed is None or error is None or error > _MAJOR * _EDGE or math.copysign(1, claimed * recomputed) < 0:
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
    """Return True if the recomputed value, rounded to the claim's number of decimals, equals the claim.

    A claim of one significant digit never does. 1.2e5 is 120000 and has no decimals.
    """
    written = Decimal(format_as_written(claim))
    _, digits, exponent = written.as_tuple()
    if len(digits) < 2 or not isinstance(exponent, int):
        return False
    decimals = max(0, -exponent)
    with localcontext(prec=1_200):  # exact: a double has at most 767 significant digits
        half = Decimal((0, (5,), -decimals - 1))
        return abs(Decimal(actual) - written) <= half * (1 + _DECIMAL_SLACK)


def compute_rounding_scale(stat: Statistic, max_abs: float, count: int) -> RoundingScale:
    """Return the rounding limits of a statistic of one column.

    `max_abs`: the largest |x| of the column's `count` values. A count of rows or values has no rounding. The limit
    `zero` of a variance is in the unit of the values, not in its square.
    """
    if stat in _COUNTS:
        return RoundingScale()
    noise = _NOISE * Fraction(max_abs) if stat in _CANCELLING else Fraction()
    return RoundingScale(_double(_ZERO * Fraction(max_abs)), _double(noise * count if stat is Statistic.SUM else noise))


def compute_bivariate_rounding_scale(unit: Fraction = Fraction(1)) -> RoundingScale:
    """Return the rounding limits of a statistic of two columns or two groups, in proportion to `unit`.

    `unit` of a slope: the largest deviation of y from its mean, divided by the largest of x. Of Welch's t: the largest
    absolute value, divided by the standard error. Of all others, such as a correlation: 1.
    """
    return RoundingScale(_double(_ZERO * unit), _double(_NOISE * unit))


def p_value_rounding_scale() -> RoundingScale:
    """Return the rounding limits of a p-value: up to 1e-9 it may be claimed as 0; no summands cancel."""
    return RoundingScale(float(_ZERO))


def _double(value: Fraction) -> float:
    """Return the nearest double; infinity if the value is larger than any double."""
    try:
        return float(value)
    except OverflowError:
        return math.inf
