"""Statistics that were recomputed from raw data, as metrics that criteria can name."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from aex_models.catalog import MetricEntry, Requirement
from aex_models.examination import DataOwner, DataProblem, Examination
from aex_models.faults import Fault
from aex_models.results import Provenance
from aex_models.thresholds import MetricType
from aex_outcomes.extractors.examined import examined, fault_of
from aex_outcomes.extractors.protocol import MetricValue, Sourced
from aex_outcomes.statistic_names import ANY_STATISTIC, PREFIX, statistic_name


@dataclass(frozen=True, slots=True)
class StatisticsExtractor:
    """`stat.NAME`: the value of the statistic NAME, recomputed in a confined worker before the engine is asked.

    Computed where the raw data are the consumer's own, and secret then; of the agent's data self-reported.
    """

    wanted: frozenset[str] | None = None
    """None: whatever was recomputed."""
    version = "1"

    def only(self, metrics: frozenset[str]) -> "StatisticsExtractor":
        """The same extractor, for these metrics."""
        return replace(self, wanted=metrics)

    async def extract(
        self,
        task_input: Mapping[str, Any],  # noqa: ARG002 part of the protocol
        task_output: Any,  # noqa: ARG002 part of the protocol
        metadata: Mapping[str, Any],
    ) -> dict[str, MetricValue]:
        """A value, or whose fault it is that there is none, for each statistic; one that nothing computes is missing.

        Raises `PlatformFault` where nothing was examined.
        """
        found = examined(metadata).examination
        named = {f"{PREFIX}{each.name}": each for each in found.recomputed}
        recomputed = {metric: each for metric, each in named.items() if statistic_name(metric)}
        metrics: dict[str, MetricValue] = {
            metric: Sourced(each.value, *_source(each.owner)) for metric, each in recomputed.items()
        }
        for metric in (self.wanted or frozenset()) - set(recomputed):
            problem = _problem(found, metric.removeprefix(PREFIX))
            metrics |= {} if problem is None else {metric: fault_of(problem)}
        return metrics if self.wanted is None else {name: metrics[name] for name in self.wanted if name in metrics}

    def supported_metrics(self) -> list[str]:
        """One entry for all: what there is, each work says."""
        return [ANY_STATISTIC]

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        """The entry `stat.*`. Each value tells its own provenance, and whether it is secret."""
        entry = MetricEntry(
            name=ANY_STATISTIC,
            unit="as the data have it",
            metric_types=(MetricType.NUMERIC, MetricType.PERCENTAGE, MetricType.COUNT),
            requires=(Requirement.SCIENCE, Requirement.RECOMPUTE_STATISTICS),
        )
        return (entry,)


def _source(owner: DataOwner) -> tuple[Provenance, bool]:
    """Where a value comes from that was recomputed from this one's data, and whether it is secret."""
    own = owner is DataOwner.CONSUMER
    return (Provenance.COMPUTED if own else Provenance.SELF_REPORTED), own


def _problem(found: Examination, name: str) -> DataProblem | None:
    """What kept a statistic from being recomputed: its own problem, else that of a whole file, the platform's first."""
    own = [each for each in found.problems if each.name == name]
    files = [each for each in found.problems if each.name is None]
    return next(iter([*own, *sorted(files, key=lambda each: each.fault is not Fault.PLATFORM)]), None)
