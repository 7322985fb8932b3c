"""What an extractor says of its metrics: by its own catalogue entries, or by their names alone."""

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from aex_models.catalog import MetricEntry
from aex_models.thresholds import MetricType
from aex_outcomes.config import InvalidConfig
from aex_outcomes.custom_names import PREFIX as CUSTOM
from aex_outcomes.extractors.custom import CustomExtractor
from aex_outcomes.extractors.protocol import MetricExtractor
from aex_outcomes.extractors.statistics import StatisticsExtractor
from aex_outcomes.statistic_names import PREFIX as STATISTIC

T = TypeVar("T")

PLAIN_TYPES = (
    MetricType.NUMERIC,
    MetricType.PERCENTAGE,
    MetricType.COUNT,
    MetricType.BOOLEAN,
    MetricType.LATENCY,
)
"""The types of a metric of which nothing but the name is known."""


def described(section: str, extractor: MetricExtractor) -> tuple[MetricEntry, ...]:
    """The catalogue's entries for the metrics of an extractor: plain ones, unless it has `catalog_entries`.

    Raises `InvalidConfig`, naming the section, whatever a class raises or returns that cannot be used.
    """
    supported = _told(section, "supported_metrics", extractor.supported_metrics, str)
    entries = _told(section, "catalog_entries", getattr(extractor, "catalog_entries", None), MetricEntry)
    if supported is None:
        raise _invalid(section, "supported_metrics() returned None; expected a list of names")
    if entries is None:
        return tuple(_plain(section, name) for name in supported)
    names = {entry.name for entry in entries}
    if names != set(supported):
        odd = ", ".join(sorted(names ^ set(supported)))
        raise _invalid(section, f"catalogue entries and supported metrics differ: {odd}")
    _refuse_reserved(section, names, extractor)
    return entries


def _told(section: str, what: str, ask: Callable[[], Any] | None, kind: type[T]) -> tuple[T, ...] | None:
    """What a method lists, each of one type; None where there is no such method, or it returns None."""
    if ask is None:
        return None
    try:
        listed = ask()
        found = tuple(listed) if isinstance(listed, Collection) and not isinstance(listed, str | Mapping) else None
    except Exception as error:  # other people's code can fail in any way
        raise _invalid(section, f"{what}() failed: {type(error).__name__}: {error}") from error
    if listed is None:
        return None
    if inspect.iscoroutine(listed):
        listed.close()  # nobody will await it
    if found is None:
        raise _invalid(section, f"{what}() returned a {type(listed).__name__}; expected a list")
    for each in found:
        if not isinstance(each, kind):
            raise _invalid(section, f"{what}() lists a {type(each).__name__}; expected {kind.__name__}")
    return found


def _plain(section: str, name: str) -> MetricEntry:
    """Secret: its value may tell of evaluation data, for all that is known."""
    _refuse_reserved(section, {name})
    try:
        return MetricEntry(name=name, unit="as the extractor says", metric_types=PLAIN_TYPES, secret=True)
    except ValueError as error:
        message = f"{name[:128]!r} cannot be a metric's name: letters, digits, dots, dashes and underscores"
        raise _invalid(section, message) from error


def _refuse_reserved(section: str, names: Collection[str], extractor: MetricExtractor | None = None) -> None:
    """Refuse names that are those of another kind of metric, whatever a work calls its own."""
    for prefix, (kind, whose) in _RESERVED.items():
        for name in sorted(names):
            if name.startswith(prefix) and not isinstance(extractor, kind):
                raise _invalid(section, f"{name}: names that begin with {prefix} are those of {whose}")


_RESERVED = {
    CUSTOM: (CustomExtractor, "custom metrics"),
    STATISTIC: (StatisticsExtractor, "statistics that are recomputed from raw data"),
}


def _invalid(section: str, problem: str) -> InvalidConfig:
    return InvalidConfig([(f"extractors.{section}", problem)])
