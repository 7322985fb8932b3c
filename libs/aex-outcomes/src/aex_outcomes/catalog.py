"""Catalogue of the metrics that criteria can name, with the extractors that compute them."""

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
from aex_outcomes.extractors.catalog_entries import list_catalog_entries
from aex_outcomes.extractors.custom import CustomExtractor
from aex_outcomes.extractors.loading import CodeRunners, load_extractor
from aex_outcomes.extractors.protocol import MetricExtractor
from aex_outcomes.metric_names import ANY_STATISTIC, MetricSources, build_statistic_entries
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

SCIENCE = "science"
"""Section of the extractor for scientific verification; its `config` has `domains_folder`."""


class UnknownMetric(ValueError):
    """Error for a criterion on a metric that the catalogue does not have."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Unknown metric: {name}")


class InvalidMetricType(ValueError):
    """Error for a criterion with a `metric_type` that its metric does not allow."""

    def __init__(self, entry: MetricEntry) -> None:
        super().__init__(f"Invalid metric_type for metric: {entry.name} (takes {', '.join(entry.metric_types)})")


class TooManyCriteria(ValueError):
    """Error for more criteria than the configuration allows."""

    def __init__(self, limit: int, count: int) -> None:
        super().__init__(f"At most {limit} criteria are allowed; these are {count}")


@dataclass(frozen=True)
class Catalog:
    """Metrics and extractors of one configuration."""

    extractors: Mapping[str, MetricExtractor]
    """Extractors by section of the configuration."""
    by_name: Mapping[str, MetricEntry]
    """Entries by metric; `custom.*` and `stat.*` stand for the metrics that a work defines."""
    sources: "MetricSources"
    """Section of the extractor, by metric."""
    max_criteria: int
    config: OutcomeConfig

    @classmethod
    def of(cls, config: OutcomeConfig | None = None, runners: CodeRunners | None = None) -> "Catalog":
        """Build the catalogue of a configuration (None: of the default one), and load its extractors.

        `runners` run code that is not the platform's own; by default each run starts a confined worker. Raises
        `InvalidConfig`, also if two extractors have the same metric.
        """
        settings = config or OutcomeConfig()
        enabled = {section: each for section, each in settings.extractor_sections().items() if each.enabled}
        loaded = {section: load_extractor(section, each, runners) for section, each in enabled.items()}
        entries: dict[str, MetricEntry] = {}
        sources = MetricSources()
        for section, extractor in loaded.items():
            for entry in list_catalog_entries(section, extractor):
                if entry.name in sources:
                    problem = f"the metric {entry.name} is already computed by {sources[entry.name]}"
                    raise InvalidConfig([(f"extractors.{section}", problem)])
                entries[entry.name] = entry
                sources[entry.name] = section
                sources.named |= {entry.name} if entry.named else set()
        return cls(loaded, entries, sources, settings.verification.max_criteria_per_task, settings)

    @classmethod
    def from_config_file(cls, config_path: Path | None) -> "Catalog":
        """Build the catalogue of a configuration file; None gives the defaults.

        Raises `InvalidConfig`, which names the file and the key, also for an unreadable file.
        """
        if config_path is None:
            return cls.of()
        try:
            return cls.of(load_config(config_path))
        except InvalidConfig as error:
            raise InvalidConfig([(f"{config_path}: {key}", problem) for key, problem in error.problems]) from None
        except OSError as error:
            raise InvalidConfig([(str(config_path), error.strerror or "cannot be read")]) from None

    def __contains__(self, metric: str) -> bool:
        return metric in self.by_name or metric in self.sources

    @property
    def entries(self) -> tuple[MetricEntry, ...]:
        """Return the entries of all metrics, sorted by name."""
        return tuple(self.by_name[name] for name in sorted(self.by_name))

    def entry(self, metric: str) -> MetricEntry:
        """Return the entry of a metric, also of a `custom.NAME`, `stat.NAME` or METRIC.NAME.

        Raises `UnknownMetric`.
        """
        if metric in self.by_name:
            return self.by_name[metric]
        if metric in self.sources:
            return self.by_name[self.sources.find_catalog_name(metric)].model_copy(update={"name": metric})
        raise UnknownMetric(metric)

    def with_statistics(self, specs: Sequence[StatisticSpec]) -> "Catalog":
        """Return a copy that also has an entry for each of a work's own statistics."""
        template = self.by_name.get(ANY_STATISTIC)
        if template is None or not specs:
            return self
        return replace(self, by_name={**self.by_name, **build_statistic_entries(template, specs)})

    @property
    def has_science(self) -> bool:
        """Return True if works can demand scientific verification here."""
        return SCIENCE in self.extractors

    @cached_property
    def domains(self) -> "DomainRegistry":
        """Return the scientific domains, read from package and configured folder on first use.

        Raises `InvalidConfig` for an invalid domain.
        """
        from aex_outcomes.science.domains.registry import DomainRegistry  # noqa: PLC0415 reads YAML

        return DomainRegistry.load(self._domains_folder)

    def check_domains(self) -> None:
        """Raise `InvalidConfig` if a configured folder of domains is unreadable or has an invalid domain."""
        if self.has_science and self._domains_folder is not None:
            _ = self.domains

    @property
    def _domains_folder(self) -> Path | None:
        folder = self.config.extractor_sections()[SCIENCE].config.get("domains_folder")
        return Path(folder) if folder else None

    def resolve_domain(self, science_domain: str | None, work_domain: str | None = None) -> Domain | None:
        """Return the domain that a work's `science` names, else the work's own; None if it is unknown."""
        name = science_domain or work_domain
        return self.domains.get(name) if name else None

    def require_supported(self, criteria: Sequence[SuccessCriterion]) -> None:
        """Raise `TooManyCriteria`, `UnknownMetric` or `InvalidMetricType` for unsupported criteria."""
        if len(criteria) > self.max_criteria:
            raise TooManyCriteria(self.max_criteria, len(criteria))
        for criterion in criteria:
            entry = self.entry(criterion.metric)
            if criterion.metric_type not in entry.metric_types:
                raise InvalidMetricType(entry)

    def required_evaluation_keys(self, criterion: SuccessCriterion) -> tuple[str, ...]:
        """Return the keys of evaluation data that the criterion needs and its own threshold does not supply.

        They are keys of `evaluation.named.NAME` for a METRIC.NAME, else of `evaluation`.
        """
        supplied = supplied_evaluation(criterion)
        return tuple(key for key in self.entry(criterion.metric).needs if key not in supplied)

    def has_secret_value(self, criterion: SuccessCriterion) -> bool:
        """Return True if the criterion's value depends on evaluation data, which agents must not learn.

        A value that depends only on data in the criterion's own threshold, which agents see, is not secret.
        """
        entry = self.entry(criterion.metric)
        return entry.secret and not (entry.needs and not self.required_evaluation_keys(criterion))

    @cached_property
    def engine_version(self) -> str:
        """Return the engine's version for verdicts: the package's version and a digest of all extractors.

        The digest covers their classes, versions and settings. Of a folder of domains it covers the path alone, because
        workers may not be able to read it.
        """
        parts: list[list[Any]] = []
        for section, extractor in sorted(self.extractors.items()):
            settings = self.config.extractor_sections()[section]
            bounds = settings.sandbox.model_dump() if isinstance(extractor, CustomExtractor) else {}
            version = str(getattr(extractor, "version", ""))
            parts.append([section, type(extractor).__qualname__, version, {**settings.config, **bounds}])
        fingerprint = hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()
        return f"{ENGINE_VERSION}+{fingerprint[:12]}"


def is_absent(value: Any) -> bool:
    """Return True for missing evaluation data: None, an empty text or an empty list.

    An empty mapping is not missing, because an empty JSON Schema is valid.
    """
    return value is None or (isinstance(value, str | list | tuple) and not value)


def supplied_evaluation(criterion: SuccessCriterion) -> dict[str, Any]:
    """Return the evaluation data that a criterion's threshold contains, by key of `evaluation`.

    They are required terms or a JSON Schema; other thresholds give an empty dict.
    """
    if criterion.comparison in {"contains_all", "contains_any"}:
        return {"required_keywords": list(criterion.threshold)}
    if criterion.metric_type is MetricType.MATCHES_SCHEMA and isinstance(criterion.threshold, Mapping):
        return {"output_schema": dict(criterion.threshold)}
    return {}
