"""A metric lies far from all that the agent, or the domain, had before."""

from collections.abc import Mapping
from typing import Any

from aex_governance.rules.case import Case
from aex_governance.rules.histogram import Histogram, bucket_of, middle_of, scaled, within
from aex_governance.rules.rule import FraudRule, Thresholds
from aex_models.governance import Action, Flag, Severity, ValidationRequest

_NORMAL = 1.4826
"""Of a normal distribution, the standard deviation is so many times the median absolute deviation (MAD)."""
_OUTER_SHARE, _OUTER = 0.9, 1.645
"""And 90 % of it lies within so many of them: where half of the values are one, the MAD is no measure."""
_LINEAR_FLOOR, _LINEAR_FLOOR_ALIKE = 0.03, 0.045
"""Of the median: values that always came out the same say nothing about how far apart honest ones may be."""
_LOG_FLOOR, _LOG_FLOOR_ALIKE = 1.5, 2.25
"""The same in buckets of 2 %."""
_LEAST_SPREAD = 1e-3
_FAR_BELOW = 3.0
_NEAR = 0.8
_NARROW, _NARROW_EXCESS = 10.0, 1.25
"""Buckets, a standard deviation of 20 %: with no more, both scales tell nearly the same, and neither excuses much."""
_FAR_END = 1.2
"""Shares near one end have the longer tail towards the other."""
_FEW = 3
"""What is told from few values may be off: the limit is 15 % higher at 20 of them, 1.5 % at 200."""
_SEEN_SHARE = 0.005


def check(case: Case, thresholds: Thresholds) -> Flag | None:
    """Compare every number with the agent's own history, where that is long enough, else with the domain's."""
    found: dict[str, dict[str, Any]] = {}
    for name, value in _numbers(case.request).items():
        for whose, histories in (("agent", case.own), ("domain", case.domain)):
            history = histories.get(name)
            if history is None or history.total < thresholds["min_outcomes"]:
                continue
            if not is_no_news(value, history):  # nearly everything is, and the distance is the costly part
                robust_z, limit = robust_z_of(value, history), limit_for(history, thresholds)
                if robust_z > limit:
                    found[name] = _figures(value, whose, history, robust_z, limit)
            break
    if not found:
        return None
    return Flag(
        rule=RULE.name,
        severity=Severity.MINOR,
        message=f"Far from the history: {', '.join(sorted(found))}",
        evidence={"metrics": found, "max_robust_z": thresholds["max_robust_z"]},
    )


def left_to_domain(request: ValidationRequest, own: Mapping[str, Histogram], thresholds: Thresholds) -> list[str]:
    """The metrics that the agent's own history is too short for: the domain's is needed for no other."""
    least = thresholds["min_outcomes"]
    return [name for name in _numbers(request) if name not in own or own[name].total < least]


def _numbers(request: ValidationRequest) -> dict[str, float]:
    metrics = request.extracted_metrics
    return {name: value for name, value in metrics.items() if value is not None and not isinstance(value, bool)}


def limit_for(history: Histogram, thresholds: Thresholds) -> float:
    """What the robust z may be at most, with a history of this length: `max_robust_z` · (1 + 3 / outcomes)."""
    return float(thresholds["max_robust_z"]) * (1 + _FEW / history.total)


def robust_z_of(value: float, history: Histogram) -> float:
    """The distance of a finite value from a history that is not empty: |x − median| / (1.4826 · MAD, with a floor).

    Long tails on one scale are short on the other: what is far off is so for the values and for their logarithms.
    Shares have no long tails and need no logarithms. Below a positive history, where zero is near, a third of the
    logarithms' distance is enough by itself.
    """
    place, median = scaled(within(value)), history.median()
    of_values, of_logarithms = _of_values(value, history), _of_logarithms(place, history)
    lowest, highest = min(history.counts), max(history.counts)
    if lowest >= _ZERO and highest <= _ONE and 0 <= value <= 1:
        return of_values / _FAR_END if abs(value - 0.5) < abs(history.median_value() - 0.5) else of_values
    nearer = min(of_values, of_logarithms)
    if lowest > _ZERO and 0 < place < median:
        return max(nearer, of_logarithms / _FAR_BELOW)
    if lowest > _ZERO and _spread_of_logarithms(history, place >= median) <= _NARROW:
        return max(nearer, of_values / _NARROW_EXCESS)
    return nearer


_ZERO, _ONE = bucket_of(0.0), bucket_of(1.0)


def _of_values(value: float, history: Histogram) -> float:
    middle = history.median_value()
    alike = history.deviation() == 0
    floor = abs(middle) * (_LINEAR_FLOOR_ALIKE if alike else _LINEAR_FLOOR)
    above = value >= middle
    spread = max(_NORMAL * history.deviation_value(), history.reach_value(_OUTER_SHARE, above) / _OUTER)
    return abs(within(value) - middle) / max(spread, floor, _LEAST_SPREAD)


def _of_logarithms(place: float, history: Histogram) -> float:
    median = history.median()
    return abs(place - median) / _spread_of_logarithms(history, place >= median)


def _spread_of_logarithms(history: Histogram, above: bool) -> float:
    deviation = history.deviation()
    floor = _LOG_FLOOR if deviation else _LOG_FLOOR_ALIKE
    return max(_NORMAL * deviation, history.reach(_OUTER_SHARE, above) / _OUTER, floor)


def is_no_news(value: float, history: Histogram) -> bool:
    """Whether it is yes or no, as ever, or the history holds values nearly as far off, on its side, or farther."""
    place, median = scaled(within(value)), history.median()
    if round(place) in (_ZERO, _ONE) and {_ZERO, _ONE}.issuperset(history.counts):
        return True
    reach = _NEAR * (place - median)
    as_far = sum(
        count
        for bucket, count in history.counts.items()
        if (bucket - median >= reach if reach > 0 else bucket - median <= reach)
    )
    return as_far >= max(1, _SEEN_SHARE * history.total)


def _figures(value: float, whose: str, history: Histogram, robust_z: float, limit: float) -> dict[str, Any]:
    return {
        "value": value,
        "robust_z": round(robust_z, 2),
        "limit": round(limit, 2),
        "history_of": whose,
        "outcomes": history.total,
        "median": history.median_value(),
        "median_absolute_deviation": history.deviation_value(),
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
            "Distance from the median in standard deviations, told from the median absolute deviation. With few "
            "outcomes it may be more, max_robust_z · (1 + 3 / outcomes): the evidence tells each metric's `limit`."
        ),
    },
    reads_history=True,
)
