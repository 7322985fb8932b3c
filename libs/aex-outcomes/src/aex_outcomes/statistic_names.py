"""How metrics are called that are statistics of raw data: `stat.NAME` for the statistic NAME of the work."""

import re
from collections.abc import Iterable, Mapping

from aex_models.catalog import MetricEntry
from aex_models.statistics import Statistic, StatisticSpec
from aex_models.thresholds import MetricType

PREFIX = "stat."
ANY_STATISTIC = f"{PREFIX}*"
"""The name under which the catalogue lists them: which there are, each work says."""

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
}
"""What the kind of a statistic says of its values. A sum, a least and a greatest value may be anything."""


def is_statistic(metric: str) -> bool:
    """Whether the metric is a statistic of raw data."""
    return metric.startswith(PREFIX)


def statistic_name(metric: str) -> str | None:
    """The NAME in `stat.NAME`; None for what is no such metric."""
    name = metric.removeprefix(PREFIX)
    return name if is_statistic(metric) and _NAME.fullmatch(name) else None


def entries_of(listed: MetricEntry, specs: Iterable[StatisticSpec]) -> dict[str, MetricEntry]:
    """The entries of a work's own statistics: that of `stat.*`, as narrow as each one's kind allows."""
    return {f"{PREFIX}{spec.name}": _entry(listed, spec) for spec in specs}


def _entry(listed: MetricEntry, spec: StatisticSpec) -> MetricEntry:
    bounds, types = _OF_KIND.get(spec.stat, (listed.range, listed.metric_types))
    return listed.model_copy(update={"name": f"{PREFIX}{spec.name}", "range": bounds, "metric_types": types})
