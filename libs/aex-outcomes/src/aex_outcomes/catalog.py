"""The catalogue: every metric that criteria can name here, and the extractor that computes it."""

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
from aex_outcomes.custom_names import ANY_NAME
from aex_outcomes.extractors.custom import CustomExtractor, code_name
from aex_outcomes.extractors.describing import described
from aex_outcomes.extractors.loading import load_extractor
from aex_outcomes.extractors.protocol import MetricExtractor
from aex_outcomes.sandbox.port import Sandbox
from aex_outcomes.statistic_names import ANY_STATISTIC, entries_of, statistic_name
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
    "supplied_by",
]

_TERMS = frozenset({"contains_all", "contains_any"})
_OPEN = {ANY_NAME: code_name, ANY_STATISTIC: statistic_name}
"""The entries that stand for many metrics, and what tells a well-formed name of such a one."""
SCIENCE = "science"
"""The section of the extractor without which there is no scientific verification; its `config` has `domains_folder`."""


class UnknownMetric(ValueError):
    """A criterion names a metric that the catalogue does not have."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Unknown metric: {name}")
        self.name = name


class InvalidMetricType(ValueError):
    """A criterion takes a metric for what the catalogue's entry says that it is not."""

    def __init__(self, entry: MetricEntry) -> None:
        super().__init__(f"Invalid metric_type for metric: {entry.name} (takes {', '.join(entry.metric_types)})")
        self.name = entry.name


class TooManyCriteria(ValueError):
    """More criteria than this configuration takes."""

    def __init__(self, most: int, count: int) -> None:
        super().__init__(f"At most {most} criteria; these are {count}")


@dataclass(frozen=True)
class Catalog:
    """Metrics and extractors of one configuration."""

    extractors: Mapping[str, MetricExtractor]
    """By section of the configuration."""
    by_name: Mapping[str, MetricEntry]
    """The metrics that are the same for every work, and `custom.*` and `stat.*` for those that a work brings."""
    sources: "Sources"
    """Metric → section of its extractor."""
    max_criteria: int
    config: OutcomeConfig

    @classmethod
    def of(cls, config: OutcomeConfig | None = None, sandbox: Sandbox | None = None) -> "Catalog":
        """The catalogue of a configuration. Raises `InvalidConfig`: also where two extractors claim one metric.

        `sandbox`: where custom metrics run; unless given, each run has a confined worker of its own.
        """
        settings = config or OutcomeConfig()
        loaded = {
            section: load_extractor(section, each, sandbox)
            for section, each in settings.sections().items()
            if each.enabled
        }
        entries: dict[str, MetricEntry] = {}
        sources = Sources()
        for section, extractor in loaded.items():
            for entry in described(section, extractor):
                if entry.name in sources:
                    problem = f"the metric {entry.name} is already computed by {sources[entry.name]}"
                    raise InvalidConfig([(f"extractors.{section}", problem)])
                entries[entry.name] = entry
                sources[entry.name] = section
        return cls(loaded, entries, sources, settings.verification.max_criteria_per_task, settings)

    @classmethod
    def load(cls, path: Path | None) -> "Catalog":
        """The catalogue of a file, or of the defaults. Raises `InvalidConfig`, naming the file and the place in it."""
        if path is None:
            return cls.of()
        try:
            return cls.of(load_config(path))
        except InvalidConfig as error:
            raise InvalidConfig([(f"{path}: {place}", problem) for place, problem in error.problems]) from None
        except OSError as error:
            raise InvalidConfig([(str(path), error.strerror or "cannot be read")]) from None

    def __contains__(self, metric: str) -> bool:
        return metric in self.by_name or metric in self.sources

    @property
    def entries(self) -> tuple[MetricEntry, ...]:
        """Every metric, by name."""
        return tuple(self.by_name[name] for name in sorted(self.by_name))

    def entry(self, metric: str) -> MetricEntry:
        """The entry of a metric. Raises `UnknownMetric`."""
        found = self.by_name.get(metric)
        if found is not None:
            return found
        if metric in self.sources:
            return self.by_name[listed_as(metric)].model_copy(update={"name": metric})
        raise UnknownMetric(metric)

    def with_statistics(self, specs: Sequence[StatisticSpec]) -> "Catalog":
        """The catalogue of a work that names statistics itself: what the kind of each says of its values is known."""
        listed = self.by_name.get(ANY_STATISTIC)
        return replace(self, by_name={**self.by_name, **entries_of(listed, specs)}) if listed and specs else self

    @property
    def has_science(self) -> bool:
        """Whether works can ask for scientific verification here."""
        return SCIENCE in self.extractors

    @cached_property
    def domains(self) -> "DomainRegistry":
        """The scientific domains: those of the package, and of the configured folder. Raises `InvalidConfig`."""
        from aex_outcomes.science.domains.registry import DomainRegistry  # noqa: PLC0415 reads YAML

        return DomainRegistry.load(self._domains_folder)

    def check_domains(self) -> None:
        """Read those of a configured folder, if there is one: others cannot be wrong. Raises `InvalidConfig`."""
        if self.has_science and self._domains_folder is not None:
            _ = self.domains

    @property
    def _domains_folder(self) -> Path | None:
        settings = self.config.sections().get(SCIENCE)
        folder = settings.config.get("domains_folder") if settings else None
        return Path(folder) if folder else None

    def domain_of(self, named: str | None, domain: str | None = None) -> Domain | None:
        """The domain that `science` names, else the work's own, where the registry knows it."""
        name = named or domain
        return self.domains.get(name) if name else None

    def check(self, criteria: Sequence[SuccessCriterion]) -> None:
        """Whether these can be judged here. Raises `TooManyCriteria`, `UnknownMetric`, `InvalidMetricType`."""
        if len(criteria) > self.max_criteria:
            raise TooManyCriteria(self.max_criteria, len(criteria))
        for criterion in criteria:
            entry = self.entry(criterion.metric)
            if criterion.metric_type not in entry.metric_types:
                raise InvalidMetricType(entry)

    def needs(self, criterion: SuccessCriterion) -> tuple[str, ...]:
        """The keys of `evaluation` that this criterion needs: those of its metric that its threshold does not bring."""
        brought = supplied_by(criterion)
        return tuple(key for key in self.entry(criterion.metric).needs if key not in brought)

    def is_secret(self, criterion: SuccessCriterion) -> bool:
        """Whether the value under this criterion is computed from evaluation data, not from an open threshold alone."""
        entry = self.entry(criterion.metric)
        return entry.secret and not (entry.needs and not self.needs(criterion))

    @cached_property
    def engine_version(self) -> str:
        """Changes whenever a verdict could: with the package, the extractors, their versions and their settings.

        Of a configured folder of domains it has the path alone: workers, which ask for it, may not be able to read it.
        """
        parts = [
            [section, type(extractor).__qualname__, str(getattr(extractor, "version", "")), self._settings(section)]
            for section, extractor in sorted(self.extractors.items())
        ]
        fingerprint = hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()
        return f"{ENGINE_VERSION}+{fingerprint[:12]}"

    def _settings(self, section: str) -> dict[str, Any]:
        settings = self.config.sections()[section]
        bounds = settings.sandbox.model_dump() if isinstance(self.extractors[section], CustomExtractor) else {}
        return {**settings.config, **bounds}


class Sources(dict[str, str]):
    """Metric → section of its extractor, also where one entry stands for many: `custom.NAME`, `stat.NAME`."""

    def __contains__(self, metric: object) -> bool:
        return isinstance(metric, str) and super().__contains__(listed_as(metric))

    def __missing__(self, metric: str) -> str:
        listed = listed_as(metric)
        if listed == metric:
            raise KeyError(metric)
        return self[listed]


def listed_as(metric: str) -> str:
    """The name under which the catalogue lists a metric: its own, or that of the entry that stands for many."""
    return next((name for name, named in _OPEN.items() if named(metric) is not None), metric)


def is_absent(value: Any) -> bool:
    """Whether evaluation data are not there: null, or empty text or list. An empty JSON Schema takes everything."""
    return value is None or (isinstance(value, str | list | tuple) and not value)


def supplied_by(criterion: SuccessCriterion) -> dict[str, Any]:
    """The evaluation data that a criterion's own threshold brings: terms, or a JSON Schema."""
    if criterion.comparison in _TERMS:
        return {"required_keywords": list(criterion.threshold)}
    if criterion.metric_type is MetricType.MATCHES_SCHEMA and isinstance(criterion.threshold, Mapping):
        return {"output_schema": dict(criterion.threshold)}
    return {}
