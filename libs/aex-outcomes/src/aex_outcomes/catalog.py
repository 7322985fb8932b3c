"""The catalogue of metrics that criteria can name, with the extractors that compute them."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aex_models.catalog import MetricEntry
from aex_models.criteria import SuccessCriterion
from aex_models.domains import Domain
from aex_models.statistics import StatisticSpec
from aex_models.thresholds import MetricType
from aex_outcomes.config import InvalidConfig, OutcomeConfig, load_config
from aex_outcomes.extractors.catalog_entries import describe_metrics
from aex_outcomes.extractors.custom import CustomExtractor, code_name
from aex_outcomes.extractors.loading import load_extractor
from aex_outcomes.extractors.protocol import MetricExtractor
from aex_outcomes.metric_names import ANY_NAME, ANY_STATISTIC, entries_of, statistic_name
from aex_outcomes.sandbox.port import Sandbox
from aex_outcomes.version import ENGINE_VERSION

if TYPE_CHECKING:
    from aex_outcomes.science.domains.registry import DomainRegistry

__all__ = [
    "Catalog",
    "InvalidMetricType",
    "MetricEntry",
    "TooManyCriteria",
    "UnknownMetric",
    "is_absent",
    "supplied_evaluation",
]

_OPEN = {ANY_NAME: code_name, ANY_STATISTIC: statistic_name}
"""The entries for many metrics, each with the parser of its metrics' names."""
SCIENCE = "science"
"""The section of the extractor for scientific verification; its `config` has `domains_folder`."""


class UnknownMetric(ValueError):
    """A criterion on a metric that the catalogue does not have."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Unknown metric: {name}")


class InvalidMetricType(ValueError):
    """A criterion with a `metric_type` that the catalogue's entry does not allow."""

    def __init__(self, entry: MetricEntry) -> None:
        super().__init__(f"Invalid metric_type for metric: {entry.name} (takes {', '.join(entry.metric_types)})")


class TooManyCriteria(ValueError):
    """More criteria than this configuration allows."""

    def __init__(self, limit: int, count: int) -> None:
        super().__init__(f"At most {limit} criteria are allowed; these are {count}")


@dataclass(frozen=True)
class Catalog:
    """The metrics and extractors of one configuration."""

    extractors: Mapping[str, MetricExtractor]
    """Section of the configuration → extractor."""
    by_name: Mapping[str, MetricEntry]
    """The metrics of every work; `custom.*` and `stat.*` stand for those of one work."""
    sources: "MetricSources"
    """Metric → section of its extractor."""
    max_criteria: int
    config: OutcomeConfig

    @classmethod
    def of(cls, config: OutcomeConfig | None = None, sandbox: Sandbox | None = None) -> "Catalog":
        """Build a configuration's catalogue. Raises `InvalidConfig`, also for two extractors of one metric.

        `sandbox`: where custom metrics run; by default, each run has a confined worker of its own.
        """
        settings = config or OutcomeConfig()
        enabled = {section: each for section, each in settings.sections().items() if each.enabled}
        loaded = {section: load_extractor(section, each, sandbox) for section, each in enabled.items()}
        entries: dict[str, MetricEntry] = {}
        sources = MetricSources()
        for section, extractor in loaded.items():
            for entry in describe_metrics(section, extractor):
                if entry.name in sources:
                    problem = f"the metric {entry.name} is already computed by {sources[entry.name]}"
                    raise InvalidConfig([(f"extractors.{section}", problem)])
                entries[entry.name] = entry
                sources[entry.name] = section
        return cls(loaded, entries, sources, settings.verification.max_criteria_per_task, settings)

    @classmethod
    def load(cls, path: Path | None) -> "Catalog":
        """Load the catalogue of a file or the defaults. Raises `InvalidConfig` with file and path."""
        if path is None:
            return cls.of()
        try:
            return cls.of(load_config(path))
        except InvalidConfig as error:
            raise InvalidConfig([(f"{path}: {key}", problem) for key, problem in error.problems]) from None
        except OSError as error:
            raise InvalidConfig([(str(path), error.strerror or "cannot be read")]) from None

    def __contains__(self, metric: str) -> bool:
        return metric in self.by_name or metric in self.sources

    @property
    def entries(self) -> tuple[MetricEntry, ...]:
        """Return every metric, sorted by name."""
        return tuple(self.by_name[name] for name in sorted(self.by_name))

    def entry(self, metric: str) -> MetricEntry:
        """Return the entry of a metric. Raises `UnknownMetric`."""
        if metric in self.by_name:
            return self.by_name[metric]
        if metric in self.sources:
            return self.by_name[listed_name(metric)].model_copy(update={"name": metric})
        raise UnknownMetric(metric)

    def with_statistics(self, specs: Sequence[StatisticSpec]) -> "Catalog":
        """Return the catalogue of a work with its statistics, whose ranges follow from their kinds."""
        listed = self.by_name.get(ANY_STATISTIC)
        return replace(self, by_name={**self.by_name, **entries_of(listed, specs)}) if listed and specs else self

    @property
    def has_science(self) -> bool:
        """Return True when works can demand scientific verification."""
        return SCIENCE in self.extractors

    @cached_property
    def domains(self) -> "DomainRegistry":
        """Return the scientific domains of the package and the configured folder. Raises `InvalidConfig`."""
        from aex_outcomes.science.domains.registry import DomainRegistry  # noqa: PLC0415 reads YAML

        return DomainRegistry.load(self._domains_folder)

    def check_domains(self) -> None:
        """Validate the domains of a configured folder. Raises `InvalidConfig`."""
        if self.has_science and self._domains_folder is not None:
            _ = self.domains

    @property
    def _domains_folder(self) -> Path | None:
        folder = self.config.sections()[SCIENCE].config.get("domains_folder")
        return Path(folder) if folder else None

    def domain_of(self, named: str | None, domain: str | None = None) -> Domain | None:
        """Return the domain that `science` names, else the work's own, if the registry knows it."""
        name = named or domain
        return self.domains.get(name) if name else None

    def check(self, criteria: Sequence[SuccessCriterion]) -> None:
        """Raise `TooManyCriteria`, `UnknownMetric` or `InvalidMetricType` for criteria that are not supported."""
        if len(criteria) > self.max_criteria:
            raise TooManyCriteria(self.max_criteria, len(criteria))
        for criterion in criteria:
            entry = self.entry(criterion.metric)
            if criterion.metric_type not in entry.metric_types:
                raise InvalidMetricType(entry)

    def required_evaluation(self, criterion: SuccessCriterion) -> tuple[str, ...]:
        """Return the keys of `evaluation` that the criterion needs beyond its own threshold."""
        supplied = supplied_evaluation(criterion)
        return tuple(key for key in self.entry(criterion.metric).needs if key not in supplied)

    def is_secret(self, criterion: SuccessCriterion) -> bool:
        """Return True when the value is computed from evaluation data, not from an open threshold alone."""
        entry = self.entry(criterion.metric)
        return entry.secret and not (entry.needs and not self.required_evaluation(criterion))

    @cached_property
    def engine_version(self) -> str:
        """Return a version that changes with the package, the extractors, their versions and their settings.

        A configured folder of domains counts by its path alone, because workers may not be able to read it.
        """
        parts: list[list[Any]] = []
        for section, extractor in sorted(self.extractors.items()):
            settings = self.config.sections()[section]
            bounds = settings.sandbox.model_dump() if isinstance(extractor, CustomExtractor) else {}
            version = str(getattr(extractor, "version", ""))
            parts.append([section, type(extractor).__qualname__, version, {**settings.config, **bounds}])
        fingerprint = hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()
        return f"{ENGINE_VERSION}+{fingerprint[:12]}"


class MetricSources(dict[str, str]):
    """Section of the extractor by metric, also for `custom.NAME` and `stat.NAME`, which share an entry."""

    def __contains__(self, metric: object) -> bool:
        return isinstance(metric, str) and super().__contains__(listed_name(metric))

    def __missing__(self, metric: str) -> str:
        listed = listed_name(metric)
        if listed == metric:
            raise KeyError(metric)
        return self[listed]


def listed_name(metric: str) -> str:
    """Return the name of a metric's entry: its own, or that of an entry for many."""
    return next((name for name, named in _OPEN.items() if named(metric) is not None), metric)


def is_absent(value: Any) -> bool:
    """Return True for absent evaluation data: null, or empty text or list. An empty JSON Schema is valid."""
    return value is None or (isinstance(value, str | list | tuple) and not value)


def supplied_evaluation(criterion: SuccessCriterion) -> dict[str, Any]:
    """Return the evaluation data in a criterion's own threshold: terms, or a JSON Schema."""
    if criterion.comparison in {"contains_all", "contains_any"}:
        return {"required_keywords": list(criterion.threshold)}
    if criterion.metric_type is MetricType.MATCHES_SCHEMA and isinstance(criterion.threshold, Mapping):
        return {"output_schema": dict(criterion.threshold)}
    return {}
