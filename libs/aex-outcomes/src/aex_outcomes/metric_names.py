"""Names of metrics that a work defines: `custom.NAME` by its code, `stat.NAME` by its statistics."""

import re
from collections.abc import Iterable, Mapping

from aex_models.catalog import MetricEntry
from aex_models.statistics import Statistic, StatisticSpec
from aex_models.thresholds import MetricType

PREFIX = "custom."
ANY_NAME = f"{PREFIX}*"
"""Name of the catalogue's entry for all metrics of a work's own code."""

STATISTIC_PREFIX = "stat."
ANY_STATISTIC = f"{STATISTIC_PREFIX}*"
"""Name of the catalogue's entry for all statistics of a work."""

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
"""Range and metric types by kind of statistic; sum, minimum and maximum have those of `stat.*`."""


def is_custom_metric(metric: str) -> bool:
    """Return True if the metric is computed by the consumer's own code: its name begins with `custom.`."""
    return metric.startswith(PREFIX)


def is_statistic_metric(metric: str) -> bool:
    """Return True if the metric is a statistic of raw data: its name begins with `stat.`."""
    return metric.startswith(STATISTIC_PREFIX)


def parse_statistic_name(metric: str) -> str | None:
    """Return NAME of a metric `stat.NAME`; None for another metric and for an invalid NAME."""
    name = metric.removeprefix(STATISTIC_PREFIX)
    return name if is_statistic_metric(metric) and _NAME.fullmatch(name) else None


def build_statistic_entries(template: MetricEntry, specs: Iterable[StatisticSpec]) -> dict[str, MetricEntry]:
    """Return a catalogue entry for each statistic of a work, by its metric's name.

    `template`: the entry `stat.*`. Range and metric types are narrowed to those of the kind of statistic.
    """
    entries = {}
    for spec in specs:
        name = f"{STATISTIC_PREFIX}{spec.name}"
        bounds, types = _OF_KIND.get(spec.stat, (template.range, template.metric_types))
        entries[name] = template.model_copy(update={"name": name, "range": bounds, "metric_types": types})
    return entries
