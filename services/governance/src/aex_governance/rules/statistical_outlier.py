"""Rule against metrics far from the history of the agent or of the domain."""

from collections.abc import Mapping
from typing import Any

from aex_governance.rules.case import FraudRule, RuleCase, Thresholds
from aex_governance.rules.histogram import Histogram, bucket_of, clamp, middle_of, scale
from aex_models.governance import Action, Flag, Severity, ValidationRequest

_NORMAL = 1.4826
"""Ratio of standard deviation and median absolute deviation (MAD) of a normal distribution."""
_OUTER_SHARE, _OUTER = 0.9, 1.645
"""90 % of it lie within 1.645 standard deviations. If half of the values are equal, the MAD is 0."""
_LINEAR_FLOOR, _LINEAR_FLOOR_EQUAL = 0.03, 0.045
"""Minimum spread relative to the median; the second for histories of equal values."""
_LOG_FLOOR, _LOG_FLOOR_EQUAL = 1.5, 2.25
"""The same in buckets of 2 %."""
_LEAST_SPREAD = 1e-3
_FAR_BELOW = 3.0
_NEAR = 0.8
_NARROW, _NARROW_EXCESS = 10.0, 1.25
"""Buckets, a standard deviation of 20 %: below, both scales are nearly the same."""
_FAR_END = 1.2
"""Shares near one end have the longer tail towards the other."""
_FEW = 3
"""For few values the limit is higher: by 15 % at 20 of them, by 1.5 % at 200."""
_SEEN_SHARE = 0.005


def check(case: RuleCase, thresholds: Thresholds) -> Flag | None:
    """Compare every number with the agent's own history if long enough, else with the domain's."""
    found: dict[str, dict[str, Any]] = {}
    for name, value in _numbers(case.request).items():
        for owner, histories in (("agent", case.own), ("domain", case.domain)):
            history = histories.get(name)
            if history is None or history.total < thresholds["min_outcomes"]:
                continue
            if not is_familiar(value, history):  # true for nearly all values, and cheaper than the distance
                distance, limit = robust_z(value, history), limit_for(history, thresholds)
                if distance > limit:
                    found[name] = _figures(value, owner, history, distance, limit)
            break
    if not found:
        return None
    return Flag(
        rule=RULE.name,
        severity=Severity.MINOR,
        message=f"Far from the history: {', '.join(sorted(found))}",
        evidence={"metrics": found, "max_robust_z": thresholds["max_robust_z"]},
    )


def metrics_without_history(
    request: ValidationRequest, own: Mapping[str, Histogram], thresholds: Thresholds
) -> list[str]:
    """Return the metrics for which the agent's own history is too short."""
    least = thresholds["min_outcomes"]
    return [name for name in _numbers(request) if name not in own or own[name].total < least]


def _numbers(request: ValidationRequest) -> dict[str, float]:
    metrics = request.extracted_metrics
    return {name: value for name, value in metrics.items() if value is not None and not isinstance(value, bool)}


def limit_for(history: Histogram, thresholds: Thresholds) -> float:
    """Return the limit of the robust z for this history: `max_robust_z` · (1 + 3 / outcomes)."""
    return float(thresholds["max_robust_z"]) * (1 + _FEW / history.total)


def robust_z(value: float, history: Histogram) -> float:
    """Return |x − median| / (1.4826 · MAD, with a floor), for a finite value and a non-empty history.

    Long tails on one scale are short on the other: the nearer of values and logarithms counts. Shares have no long
    tails and need no logarithms. Below a positive history a third of the logarithms' distance is enough.
    """
    position, median = scale(clamp(value)), history.buckets.median()
    spread, linear = _logarithmic_spread(history, position >= median), _linear_distance(value, history)
    logarithmic = abs(position - median) / spread
    lowest, highest = min(history.counts), max(history.counts)
    if lowest >= _ZERO and highest <= _ONE and 0 <= value <= 1:
        return linear / _FAR_END if abs(value - 0.5) < abs(history.values.median() - 0.5) else linear
    nearer = min(linear, logarithmic)
    if lowest > _ZERO and 0 < position < median:
        return max(nearer, logarithmic / _FAR_BELOW)
    if lowest > _ZERO and spread <= _NARROW:
        return max(nearer, linear / _NARROW_EXCESS)
    return nearer


_ZERO, _ONE = bucket_of(0.0), bucket_of(1.0)


def _linear_distance(value: float, history: Histogram) -> float:
    middle = history.values.median()
    are_equal = history.buckets.deviation() == 0
    floor = abs(middle) * (_LINEAR_FLOOR_EQUAL if are_equal else _LINEAR_FLOOR)
    above = value >= middle
    spread = max(_NORMAL * history.values.deviation(), history.values.distance_quantile(_OUTER_SHARE, above) / _OUTER)
    return abs(clamp(value) - middle) / max(spread, floor, _LEAST_SPREAD)


def _logarithmic_spread(history: Histogram, above: bool) -> float:
    deviation = history.buckets.deviation()
    floor = _LOG_FLOOR if deviation else _LOG_FLOOR_EQUAL
    return max(_NORMAL * deviation, history.buckets.distance_quantile(_OUTER_SHARE, above) / _OUTER, floor)


def is_familiar(value: float, history: Histogram) -> bool:
    """Return whether the history has values nearly as far from its median, or zeros and ones only."""
    position, median = scale(clamp(value)), history.buckets.median()
    if round(position) in (_ZERO, _ONE) and {_ZERO, _ONE}.issuperset(history.counts):
        return True
    reach = _NEAR * (position - median)
    as_far = sum(
        count
        for bucket, count in history.counts.items()
        if (bucket - median >= reach if reach > 0 else bucket - median <= reach)
    )
    return as_far >= max(1, _SEEN_SHARE * history.total)


def _figures(value: float, owner: str, history: Histogram, distance: float, limit: float) -> dict[str, Any]:
    return {
        "value": value,
        "robust_z": round(distance, 2),
        "limit": round(limit, 2),
        "history_of": owner,
        "outcomes": history.total,
        "median": history.values.median(),
        "median_absolute_deviation": history.values.deviation(),
        "lowest": middle_of(min(history.counts)),
        "highest": middle_of(max(history.counts)),
    }


RULE = FraudRule(
    name="statistical_outlier",
    description="A metric far from the agent's own history in the domain, or from the domain's.",
    check=check,
    actions={Severity.MINOR: Action.ALLOW},
    threshold_notes={
        "min_outcomes": "Allowed outcomes that a history needs before anything is compared with it.",
        "max_robust_z": (
            "Distance from the median in standard deviations, computed from the median absolute deviation. With few "
            "outcomes it may be more, max_robust_z · (1 + 3 / outcomes): the evidence has each metric's `limit`."
        ),
    },
    reads_history=True,
)
