"""Statistics recomputed from raw data, as metrics that criteria can name."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from aex_models.catalog import MetricEntry, Requirement
from aex_models.examination import DataOwner, Fault
from aex_models.results import Provenance
from aex_models.thresholds import MetricType
from aex_outcomes.extractors.protocol import Metrics, Sourced
from aex_outcomes.extractors.science import as_extractor_fault, read_science_result
from aex_outcomes.metric_names import ANY_STATISTIC, parse_statistic_name
from aex_outcomes.metric_names import STATISTIC_PREFIX as PREFIX


@dataclass(frozen=True, slots=True)
class StatisticsExtractor:
    """Extractor of `stat.NAME`: the value of the statistic NAME, recomputed in a confined worker before.

    A value of the consumer's own raw data is computed and secret; of the agent's data it is self-reported.
    """

    selected_metrics: frozenset[str] | None = None
    """Metrics to compute; None for all recomputed statistics."""
    version = "1"

    def for_metrics(self, metrics: frozenset[str]) -> "StatisticsExtractor":
        """Return this extractor for fewer metrics."""
        return replace(self, selected_metrics=metrics)

    async def extract(self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]) -> Metrics:
        """Return a value or a fault for each statistic; a statistic that is not computed is missing.

        The fault is the statistic's own problem, else that of a file, the platform's before the agent's.
        Raises `PlatformFault` where nothing was examined.
        """
        found = read_science_result(metadata).examination
        metrics: Metrics = {}
        for each in found.recomputed:
            is_own = each.owner is DataOwner.CONSUMER
            provenance = Provenance.COMPUTED if is_own else Provenance.SELF_REPORTED
            if parse_statistic_name(f"{PREFIX}{each.name}"):
                metrics[f"{PREFIX}{each.name}"] = Sourced(each.value, provenance, is_own)
        if self.selected_metrics is None:
            return metrics
        of_files = [each for each in found.problems if each.name is None]
        of_files.sort(key=lambda each: each.fault is not Fault.PLATFORM)
        for metric in self.selected_metrics - metrics.keys():
            own = [each for each in found.problems if each.name == metric.removeprefix(PREFIX)]
            for problem in [*own, *of_files][:1]:
                metrics[metric] = as_extractor_fault(problem)
        return {name: metrics[name] for name in self.selected_metrics if name in metrics}

    def supported_metrics(self) -> list[str]:
        return [ANY_STATISTIC]

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        types = (MetricType.NUMERIC, MetricType.PERCENTAGE, MetricType.COUNT)
        requires = (Requirement.SCIENCE, Requirement.RECOMPUTE_STATISTICS)
        return (
            MetricEntry(
                name=ANY_STATISTIC,
                description="Value of the work's statistic of this name, recomputed from raw data.",
                unit="as the data have it",
                metric_types=types,
                requires=requires,
            ),
        )
