"""Extractor of statistics that were recomputed from raw data."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from aex_models.catalog import MetricEntry, Requirement
from aex_models.examination import DataOwner, Fault
from aex_models.results import Provenance
from aex_models.thresholds import MetricType
from aex_outcomes.extractors.protocol import Metrics, Sourced
from aex_outcomes.extractors.science import read_science_result, to_extractor_fault
from aex_outcomes.metric_names import ANY_STATISTIC, parse_statistic_name
from aex_outcomes.metric_names import STATISTIC_PREFIX as PREFIX


@dataclass(frozen=True, slots=True)
class RecomputedStatisticsExtractor:
    """Extractor of `stat.NAME`, the statistic NAME, from the result of the science gate in the metadata.

    The provenance of a value from the consumer's raw data is `computed`, and it is secret; a value from the agent's
    data is `self_reported`.
    """

    selected_metrics: frozenset[str] | None = None
    """Metrics to return; None for all recomputed statistics."""
    version = "1"

    def for_metrics(self, metrics: frozenset[str]) -> "RecomputedStatisticsExtractor":
        """Return an extractor of these metrics alone."""
        return replace(self, selected_metrics=metrics)

    async def extract(self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]) -> Metrics:
        """Return the value or the fault of each selected statistic; one without either is left out.

        A fault is the statistic's own problem, else that of a file, preferably one of the platform. Raises
        `PlatformFault` if the work has no `science`.
        """
        found = read_science_result(metadata).examination
        metrics: Metrics = {}
        for each in found.recomputed:
            is_own = each.owner is DataOwner.CONSUMER
            provenance = Provenance.COMPUTED if is_own else Provenance.SELF_REPORTED
            if parse_statistic_name(f"{PREFIX}{each.name}"):
                metrics[f"{PREFIX}{each.name}"] = Sourced(each.value, provenance, each.is_secret)
        if self.selected_metrics is None:
            return metrics
        of_files = [each for each in found.problems if each.name is None]
        of_files.sort(key=lambda each: each.fault is not Fault.PLATFORM)
        for metric in self.selected_metrics - metrics.keys():
            own = [each for each in found.problems if each.name == metric.removeprefix(PREFIX)]
            for problem in [*own, *of_files][:1]:
                metrics[metric] = to_extractor_fault(problem)
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
