"""The names of metrics that a work defines: `custom.NAME` of its code, `stat.NAME` of its statistics."""

import re
from collections.abc import Iterable, Mapping

from aex_models.catalog import MetricEntry
from aex_models.statistics import Statistic, StatisticSpec
from aex_models.thresholds import MetricType

PREFIX = "custom."
ANY_NAME = f"{PREFIX}*"
"""The catalogue's entry for all metrics of a work's own code."""

STATISTIC_PREFIX = "stat."
ANY_STATISTIC = f"{STATISTIC_PREFIX}*"
"""The catalogue's entry for all statistics of a work."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}")
_MEASURE = (MetricType.NUMERIC, MetricType.PERCENTAGE)
_COUNTED = (MetricType.COUNT, MetricType.NUMERIC)
_OF_KIND: Mapping[Statistic, tuple[tuple[float | None, float | None], tuple[MetricType, ...]]] = {
    Statistic.COUNT: ((0, None), _COUNTED),
    Statistic.N_UNIQUE: ((0, None), _COUNTED),
    Statistic.STD: ((0, None), _MEASURE),
    Statistic.VAR: ((0, None), _MEASURE),
    Statistic.PEARSON: ((-1, 1), _MEASURE),
    Statistic.SPEARMAN: ((-1, 1), _MEASURE),
    Statistic.R_SQUARED: ((0, 1), _MEASURE),
    Statistic.MEAN: ((None, None), _MEASURE),
    Statistic.MEDIAN: ((None, None), _MEASURE),
    Statistic.QUANTILE: ((None, None), _MEASURE),
    Statistic.SLOPE: ((None, None), _MEASURE),
    Statistic.WELCH_T: ((None, None), _MEASURE),
    Statistic.WELCH_P: ((0, 1), _MEASURE),
    Statistic.MANNWHITNEY_U: ((0, None), _MEASURE),
    Statistic.MANNWHITNEY_P: ((0, 1), _MEASURE),
    Statistic.BH_COUNT: ((0, None), _COUNTED),
    Statistic.BH_MAX_ERROR: ((0, None), _MEASURE),
}
"""Range and types by kind of statistic; sum, minimum and maximum are unbounded."""


def is_custom(metric: str) -> bool:
    """Return True for a metric of the consumer's own code."""
    return metric.startswith(PREFIX)


def is_statistic(metric: str) -> bool:
    """Return True for a statistic of raw data."""
    return metric.startswith(STATISTIC_PREFIX)


def statistic_name(metric: str) -> str | None:
    """Return the NAME in `stat.NAME`; None for another metric."""
    name = metric.removeprefix(STATISTIC_PREFIX)
    return name if is_statistic(metric) and _NAME.fullmatch(name) else None


def entries_of(listed: MetricEntry, specs: Iterable[StatisticSpec]) -> dict[str, MetricEntry]:
    """Return the entries of a work's statistics, as narrow as their kinds allow."""
    entries = {}
    for spec in specs:
        name = f"{STATISTIC_PREFIX}{spec.name}"
        bounds, types = _OF_KIND.get(spec.stat, (listed.range, listed.metric_types))
        entries[name] = listed.model_copy(update={"name": name, "range": bounds, "metric_types": types})
    return entries
