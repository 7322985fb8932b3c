"""Protocol of extractors, and the values and faults that they report."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from aex_models.results import Provenance
from aex_models.work import Problem


class MetricFault(Exception):
    """A metric that cannot be computed.

    Raised for all metrics of an extractor, or returned in place of one metric's value.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class AgentFault(MetricFault):
    """A metric that the candidate keeps from being computed: its criteria are unmet, nothing is retried.

    The message may count evaluation data but never quotes them.
    """


class PlatformFault(MetricFault):
    """A metric that cannot be computed without fault of the candidate: the verdict is indeterminate.

    Only the consumer may read `message` where `code` is `custom_metric_failed`.
    """


@dataclass(frozen=True, slots=True)
class Sourced:
    """A value with its provenance, for a metric whose provenance differs between candidates."""

    value: bool | float
    provenance: Provenance
    """Replaces the catalogue's."""
    secret: bool = False
    """True if evaluation data determine it; a metric that the catalogue calls secret is always secret."""


MetricValue = bool | float | Sourced | AgentFault | PlatformFault
Metrics = dict[str, MetricValue]


@runtime_checkable
class MetricExtractor(Protocol):
    """Extractor of named metrics of one candidate; instances are shared and keep no candidate.

    It may have further methods. `only(metrics)` returns this extractor, restricted to the metrics that criteria name.
    `check_evaluation(evaluation)` yields problems with paths below `evaluation`, which quote no evaluation data.
    `catalog_entries()` returns the metrics' `MetricEntry`s. Any other exception counts as a fault of the platform.
    """

    async def extract(
        self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]
    ) -> Mapping[str, MetricValue]:
        """Return the metrics of `task_output`. A metric that cannot be computed is left out; it is never 0.

        `task_input`: the work's input overlaid by its evaluation data. `metadata`: the agent's execution metadata,
        and `platform_latency_ms` where the platform measured it.
        """
        ...

    def supported_metrics(self) -> list[str]:
        """Return the names of the metrics that `extract` can return."""
        ...


def restrict_to_metrics(extractor: Any, metrics: frozenset[str]) -> MetricExtractor:
    """Return the extractor for these metrics alone, where it can skip others."""
    restricted: MetricExtractor = extractor.for_metrics(metrics) if hasattr(extractor, "for_metrics") else extractor
    return restricted


def check_evaluation(extractor: Any, evaluation: Mapping[str, Any]) -> Iterable[Problem]:
    """Return the problems that an extractor finds in evaluation data."""
    found: Iterable[Problem] = getattr(extractor, "check_evaluation", lambda _: ())(evaluation)
    return found
