"""Fraud rule against metrics far from the history of the agent or of the domain."""

from collections.abc import Mapping
from typing import Any

from aex_governance.rules.case import FraudRule, RuleCase, Thresholds
from aex_governance.rules.histogram import Histogram, bucket_middle, bucket_of, clamp_metric, to_bucket_scale
from aex_models.governance import Action, Flag, Severity, ValidationRequest

_NORMAL = 1.4826
"""Ratio of the standard deviation to the median absolute deviation (MAD) in a normal distribution."""
_OUTER_SHARE, _OUTER = 0.9, 1.645
"""Share of a normal distribution within 1.645 standard deviations; used where half of the values are equal (MAD 0)."""
_LINEAR_FLOOR, _LINEAR_FLOOR_EQUAL = 0.03, 0.045
"""Minimum spread relative to the median; the second is for histories whose MAD is 0."""
_LOG_FLOOR, _LOG_FLOOR_EQUAL = 1.5, 2.25
"""Minimum spread in buckets of 2 %; the second is for histories whose MAD is 0."""
_LEAST_SPREAD = 1e-3
_FAR_BELOW = 3.0
_NEAR = 0.8
_NARROW, _NARROW_EXCESS = 10.0, 1.25
"""Spread in buckets (20 %) below which the linear and the logarithmic scale are nearly the same."""
_FAR_END = 1.2
"""Factor for shares in [0, 1]: near one end the tail towards the other end is longer."""
_FEW = 3
"""Term of the limit for short histories: 15 % more at 20 values, 1.5 % more at 200."""
_SEEN_SHARE = 0.005


def check(case: RuleCase, thresholds: Thresholds) -> Flag | None:
    """Return a minor flag with each metric far from its history; None if there is none.

    The history is the agent's own if it has `min_outcomes` values, else the domain's if that has as many.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, value in _numbers(case.request).items():
        for owner, histories in (("agent", case.own), ("domain", case.domain)):
            history = histories.get(name)
            if history is None or history.total < thresholds["min_outcomes"]:
                continue
            # True for nearly all values, and cheaper than the distance.
            if not has_past_values_as_extreme(value, history):
                distance, limit = compute_robust_z(value, history), robust_z_limit(history, thresholds)
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


def find_metrics_with_short_history(
    request: ValidationRequest, own: Mapping[str, Histogram], thresholds: Thresholds
) -> list[str]:
    """Return the numeric metrics for which the agent's own history has fewer than `min_outcomes` values."""
    least = thresholds["min_outcomes"]
    return [name for name in _numbers(request) if name not in own or own[name].total < least]


def _numbers(request: ValidationRequest) -> dict[str, float]:
    metrics = request.extracted_metrics
    return {name: value for name, value in metrics.items() if value is not None and not isinstance(value, bool)}


def robust_z_limit(history: Histogram, thresholds: Thresholds) -> float:
    """Return the distance from the median above which a value is flagged, in robust standard deviations.

    It is `max_robust_z` · (1 + 3 / values in the history).
    """
    return float(thresholds["max_robust_z"]) * (1 + _FEW / history.total)


def compute_robust_z(value: float, history: Histogram) -> float:
    """Return the distance of a value from the median of its history, in robust standard deviations.

    A robust standard deviation is 1.4826 · MAD (median absolute deviation), with a minimum. The smaller of the linear
    and the logarithmic distance counts. Shares in [0, 1] use the linear one. Below the median of a positive history,
    at least a third of the logarithmic distance counts.
    """
    position, median = to_bucket_scale(clamp_metric(value)), history.bucket_distribution.median()
    spread, linear = _logarithmic_spread(history, position >= median), _linear_distance(value, history)
    logarithmic = abs(position - median) / spread
    lowest, highest = min(history.counts), max(history.counts)
    if lowest >= _ZERO and highest <= _ONE and 0 <= value <= 1:
        return linear / _FAR_END if abs(value - 0.5) < abs(history.value_distribution.median() - 0.5) else linear
    nearer = min(linear, logarithmic)
    if lowest > _ZERO and 0 < position < median:
        return max(nearer, logarithmic / _FAR_BELOW)
    if lowest > _ZERO and spread <= _NARROW:
        return max(nearer, linear / _NARROW_EXCESS)
    return nearer


_ZERO, _ONE = bucket_of(0.0), bucket_of(1.0)


def _linear_distance(value: float, history: Histogram) -> float:
    middle = history.value_distribution.median()
    are_equal = history.bucket_distribution.median_absolute_deviation() == 0
    floor = abs(middle) * (_LINEAR_FLOOR_EQUAL if are_equal else _LINEAR_FLOOR)
    above = value >= middle
    spread = max(
        _NORMAL * history.value_distribution.median_absolute_deviation(),
        history.value_distribution.median_distance_quantile(_OUTER_SHARE, above) / _OUTER,
    )
    return abs(clamp_metric(value) - middle) / max(spread, floor, _LEAST_SPREAD)


def _logarithmic_spread(history: Histogram, above: bool) -> float:
    deviation = history.bucket_distribution.median_absolute_deviation()
    floor = _LOG_FLOOR if deviation else _LOG_FLOOR_EQUAL
    return max(
        _NORMAL * deviation, history.bucket_distribution.median_distance_quantile(_OUTER_SHARE, above) / _OUTER, floor
    )


def has_past_values_as_extreme(value: float, history: Histogram) -> bool:
    """Return whether the history has values about as far from its median as `value`, on the same side.

    Also true for 0 or 1 in a history that has only zeros and ones.
    """
    position, median = to_bucket_scale(clamp_metric(value)), history.bucket_distribution.median()
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
        "median": history.value_distribution.median(),
        "median_absolute_deviation": history.value_distribution.median_absolute_deviation(),
        "lowest": bucket_middle(min(history.counts)),
        "highest": bucket_middle(max(history.counts)),
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
