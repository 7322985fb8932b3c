"""Names of metrics that a work defines: `custom.NAME`, `stat.NAME`, and METRIC.NAME over named data."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

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
_CODE_NAME = re.compile(r"custom\.([A-Za-z_][A-Za-z0-9_-]*)(?:\.([A-Za-z0-9_.-]+))?")
_MAX_NAME = 128
_DATA_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
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


def parse_custom_metric_name(metric: str) -> str | None:
    """Return NAME of a metric `custom.NAME` or `custom.NAME.KEY`; None for any other metric."""
    found = _CODE_NAME.fullmatch(metric) if len(metric) <= _MAX_NAME else None
    return found.group(1) if found else None


def parse_statistic_name(metric: str) -> str | None:
    """Return NAME of a metric `stat.NAME`; None for another metric and for an invalid NAME."""
    name = metric.removeprefix(STATISTIC_PREFIX)
    return name if is_statistic_metric(metric) and _NAME.fullmatch(name) else None


class NamedMetric(NamedTuple):
    """A metric METRIC.NAME, in its two parts."""

    metric: str
    name: str


def split_named_metric(metric: str) -> NamedMetric | None:
    """Return METRIC and NAME of a metric's name METRIC.NAME; None if it has no such form."""
    base, _, name = metric.rpartition(".")
    return NamedMetric(base, name) if base and _DATA_NAME.fullmatch(name) else None


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


_OPEN = {ANY_NAME: parse_custom_metric_name, ANY_STATISTIC: parse_statistic_name}
"""Entries that stand for many metrics, each with the function that recognises their names."""


class MetricSources(dict[str, str]):
    """Mapping from metric to its extractor's section.

    Every `custom.NAME`, every `stat.NAME` and the METRIC.NAME of metrics that can be named are keys, too.
    """

    def __init__(self) -> None:
        super().__init__()
        self.named: set[str] = set()
        """Metrics of which METRIC.NAME exists."""

    def __contains__(self, metric: object) -> bool:
        return isinstance(metric, str) and super().__contains__(self.find_catalog_name(metric))

    def __missing__(self, metric: str) -> str:
        listed = self.find_catalog_name(metric)
        if listed == metric:
            raise KeyError(metric)
        return self[listed]

    def find_catalog_name(self, metric: str) -> str:
        """Return the name of the metric's entry: METRIC of METRIC.NAME, `custom.*`, `stat.*`, or itself."""
        if (split := self.split_named(metric)) is not None:
            return split.metric
        return next((name for name, parse in _OPEN.items() if parse(metric) is not None), metric)

    def split_named(self, metric: str) -> NamedMetric | None:
        """Return METRIC and NAME of a METRIC.NAME; None for any other metric."""
        split = None if super().__contains__(metric) else split_named_metric(metric)
        return split if split is not None and split.metric in self.named else None
