"""A metric lies far from all that the agent, or the domain, had before."""

from dataclasses import dataclass
from typing import Any

from aex_governance.rules.case import Case
from aex_governance.rules.histogram import Histogram, bucket_of, middle_of, scaled, within
from aex_governance.rules.rule import FraudRule, Thresholds
from aex_models.governance import Action, Flag, Severity

_NORMAL = 1.4826
"""Of a normal distribution, the standard deviation is so many times the median absolute deviation (MAD)."""
_OUTER_SHARE, _OUTER = 0.9, 1.645
"""And 90 % of it lies within so many of them: where half of the values are one, the MAD is no measure."""
_LINEAR_FLOOR, _LINEAR_FLOOR_ALIKE = 0.05, 0.08
"""Of the median: values that always came out the same say nothing about how far apart honest ones may be."""
_LOG_FLOOR, _LOG_FLOOR_ALIKE = 2.5, 4.0
"""The same in buckets of 2 %."""
_LEAST_SPREAD = 1e-3
_FAR_BELOW = 3.0
_NEAR = 0.8
_FEW = 4
"""What is told from few values may be off: the limit is 20 % higher at 20 of them, 2 % at 200."""
_SEEN_SHARE = 0.005


def check(case: Case, thresholds: Thresholds) -> Flag | None:
    """Compare every number with the agent's own history, where that is long enough, else with the domain's."""
    found: dict[str, dict[str, Any]] = {}
    for name, value in case.request.extracted_metrics.items():
        if value is None or isinstance(value, bool):
            continue
        for whose, histories in (("agent", case.own), ("domain", case.domain)):
            history = histories.get(name)
            if history is not None and history.total >= thresholds["min_outcomes"]:
                distance = distance_of(value, history)
                limit = thresholds["max_robust_z"] * (1 + _FEW / history.total)
                if distance.robust_z > limit and not distance.seen_before:
                    found[name] = _figures(value, whose, history, distance)
                break
    if not found:
        return None
    return Flag(
        rule=RULE.name,
        severity=Severity.MINOR,
        message=f"Far from the history: {', '.join(sorted(found))}",
        evidence={"metrics": found, "max_robust_z": thresholds["max_robust_z"]},
    )


@dataclass(frozen=True, slots=True)
class Distance:
    """How far a value lies from a history."""

    robust_z: float
    """|x − median| / (1.4826 · MAD, not below a floor)."""
    seen_before: bool
    """Whether values about as far off, on the same side, are no news."""


def distance_of(value: float, history: Histogram) -> Distance:
    """The distance of a finite value from a history that is not empty.

    Long tails on one scale are short on the other: what is far off is so for the values and for their logarithms.
    Shares have no long tails and need no logarithms. Below a positive history, where zero is near, a third of the
    logarithms' distance is enough by itself.
    """
    place, median = scaled(within(value)), history.median()
    of_values, of_logarithms = _of_values(value, history), _of_logarithms(place, history)
    lowest, highest = min(history.counts), max(history.counts)
    if lowest >= _ZERO and highest <= _ONE and 0 <= value <= 1:
        robust_z = of_values
    elif 0 < place < median and lowest > _ZERO:
        robust_z = max(min(of_values, of_logarithms), of_logarithms / _FAR_BELOW)
    else:
        robust_z = min(of_values, of_logarithms)
    return Distance(robust_z, _is_no_news(place, median, history))


_ZERO, _ONE = bucket_of(0.0), bucket_of(1.0)


def _of_values(value: float, history: Histogram) -> float:
    middle = history.median_value()
    alike = history.deviation() == 0
    floor = abs(middle) * (_LINEAR_FLOOR_ALIKE if alike else _LINEAR_FLOOR)
    spread = max(_NORMAL * history.deviation_value(), history.reach_value(_OUTER_SHARE) / _OUTER)
    return abs(within(value) - middle) / max(spread, floor, _LEAST_SPREAD)


def _of_logarithms(place: float, history: Histogram) -> float:
    deviation = history.deviation()
    floor = _LOG_FLOOR if deviation else _LOG_FLOOR_ALIKE
    spread = max(_NORMAL * deviation, history.reach(_OUTER_SHARE) / _OUTER)
    return abs(place - history.median()) / max(spread, floor)


def _is_no_news(place: float, median: float, history: Histogram) -> bool:
    """Whether it is yes or no, as ever, or the history holds values nearly as far off, or farther."""
    if round(place) in (_ZERO, _ONE) and {_ZERO, _ONE}.issuperset(history.counts):
        return True
    reach = _NEAR * (place - median)
    as_far = sum(
        count
        for bucket, count in history.counts.items()
        if (bucket - median >= reach if reach > 0 else bucket - median <= reach)
    )
    return as_far >= max(1, _SEEN_SHARE * history.total)


def _figures(value: float, whose: str, history: Histogram, distance: Distance) -> dict[str, Any]:
    return {
        "value": value,
        "robust_z": round(distance.robust_z, 2),
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
        "max_robust_z": "Distance from the median in standard deviations, told from the median absolute deviation.",
    },
)
