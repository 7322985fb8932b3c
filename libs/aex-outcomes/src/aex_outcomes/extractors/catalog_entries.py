"""Catalogue entries of an extractor's metrics: its own ones, or plain ones by metric name."""

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from aex_models.catalog import Direction, MetricEntry
from aex_models.thresholds import MetricType
from aex_outcomes.config import InvalidConfig
from aex_outcomes.extractors.custom import CustomExtractor
from aex_outcomes.extractors.protocol import MetricExtractor
from aex_outcomes.extractors.statistics import RecomputedStatisticsExtractor
from aex_outcomes.metric_names import PREFIX as CUSTOM
from aex_outcomes.metric_names import STATISTIC_PREFIX as STATISTIC

T = TypeVar("T")

PLAIN_TYPES = (MetricType.NUMERIC, MetricType.PERCENTAGE, MetricType.COUNT, MetricType.BOOLEAN, MetricType.LATENCY)
"""Metric types that are allowed for a metric of which only the name is known."""


def list_catalog_entries(section: str, extractor: MetricExtractor) -> tuple[MetricEntry, ...]:
    """Ask an extractor for its metrics and return their catalogue entries.

    An extractor without the method `catalog_entries` gets plain entries. Raises `InvalidConfig`, which names the
    section, if the extractor raises or returns something unusable.
    """
    supported = _list_from(section, "supported_metrics", extractor.supported_metrics, str)
    entries = _list_from(section, "catalog_entries", getattr(extractor, "catalog_entries", None), MetricEntry)
    if supported is None:
        raise _invalid_section(section, "supported_metrics() returned None; expected a list of names")
    if entries is None:
        return tuple(_plain_entry(section, name) for name in supported)
    names = {entry.name for entry in entries}
    if names != set(supported):
        differing = ", ".join(sorted(names ^ set(supported)))
        raise _invalid_section(section, f"catalogue entries and supported metrics differ: {differing}")
    _refuse_reserved(section, names, extractor)
    return entries


def _list_from(
    section: str, method: str, list_metrics: Callable[[], Any] | None, kind: type[T]
) -> tuple[T, ...] | None:
    """Call a method and return the listed items, checked to be of type `kind`.

    Returns None if there is no such method, or if it returns None.
    """
    if list_metrics is None:
        return None
    try:
        listed = list_metrics()
        found = tuple(listed) if isinstance(listed, Collection) and not isinstance(listed, str | Mapping) else None
    except Exception as error:  # foreign code can fail in any way
        raise _invalid_section(section, f"{method}() failed: {type(error).__name__}: {error}") from error
    if listed is None:
        return None
    if inspect.iscoroutine(listed):
        listed.close()  # never awaited
    if found is None:
        raise _invalid_section(section, f"{method}() returned a {type(listed).__name__}; expected a list")
    for each in found:
        if not isinstance(each, kind):
            raise _invalid_section(section, f"{method}() lists a {type(each).__name__}; expected {kind.__name__}")
    return found


def _plain_entry(section: str, name: str) -> MetricEntry:
    """Return an entry for a metric with an unknown meaning; it is secret, as it may show evaluation data."""
    _refuse_reserved(section, {name})
    try:
        return MetricEntry(name=name, unit="as the extractor says", metric_types=PLAIN_TYPES, secret=True)
    except ValueError as error:
        message = f"{name[:128]!r} cannot be a metric's name: letters, digits, dots, dashes and underscores"
        raise _invalid_section(section, message) from error


def _refuse_reserved(section: str, names: Collection[str], extractor: MetricExtractor | None = None) -> None:
    for prefix, (kind, owner) in _RESERVED.items():
        for name in sorted(names):
            if name.startswith(prefix) and not isinstance(extractor, kind):
                raise _invalid_section(section, f"{name}: names that begin with {prefix} are those of {owner}")


_RESERVED = {
    CUSTOM: (CustomExtractor, "custom metrics"),
    STATISTIC: (RecomputedStatisticsExtractor, "statistics that are recomputed from raw data"),
}


def _invalid_section(section: str, problem: str) -> InvalidConfig:
    return InvalidConfig([(f"extractors.{section}", problem)])


def build_secret_score_entry(
    name: str, own_type: MetricType | None, evaluation_key: str, description: str, at: str | None = None
) -> MetricEntry:
    """Return the entry of a score from 0 to 1 that is computed from the evaluation data under this key.

    Higher is better. `own_type`: further metric type, if there is one. With `boolean`, a boolean criterion reads the
    score as true if it is 1. `at`: JSON pointer to the
    measured part of the output; a metric that has one can be named.
    """
    return MetricEntry(
        name=name,
        description=description,
        unit="fraction",
        range=(0, 1),
        direction=Direction.HIGHER,
        metric_types=(*([own_type] if own_type else []), MetricType.PERCENTAGE, MetricType.NUMERIC),
        needs=(evaluation_key,),
        secret=True,
        at=at,
        named=at is not None,
    )


def build_secret_number_entry(
    name: str,
    evaluation_key: str,
    description: str,
    at: str,
    *,
    unit: str = "number",
    bounds: tuple[float | None, float | None] = (0, None),
    direction: Direction = Direction.HIGHER,
) -> MetricEntry:
    """Return the entry of a numeric metric that is computed from the evaluation data under this key.

    `at`: JSON pointer to the measured part of the output. The metric can be named.
    """
    return MetricEntry(
        name=name,
        description=description,
        unit=unit,
        range=bounds,
        direction=direction,
        metric_types=(MetricType.NUMERIC,),
        needs=(evaluation_key,),
        secret=True,
        at=at,
        named=True,
    )


def build_count_entry(name: str, unit: str, description: str, at: str | None = None) -> MetricEntry:
    """Return the entry of a metric that counts things of this unit in the part of the output at `at`.

    A metric with an `at` can be named.
    """
    types = (MetricType.COUNT, MetricType.NUMERIC)
    return MetricEntry(
        name=name,
        description=description,
        unit=unit,
        range=(0, None),
        metric_types=types,
        at=at,
        named=at is not None,
    )
