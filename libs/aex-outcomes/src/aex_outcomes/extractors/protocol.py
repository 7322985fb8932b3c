"""What an extractor is, and how it says that the agent is to blame for a metric that is not there."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard, runtime_checkable

from aex_models.catalog import MetricEntry
from aex_models.results import Provenance
from aex_models.work import Problem


class AgentFault(Exception):
    """The candidate itself keeps a metric from being computed: its criteria are unmet, nothing is retried.

    Raised for all metrics of an extractor, or returned in place of one metric's value.
    The message may count evaluation data but never quote them.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class PlatformFault(Exception):
    """A metric cannot be computed, and the candidate is not to blame: the verdict is indeterminate.

    Raised or returned like `AgentFault`. `message` is the consumer's alone where `code` is `custom_metric_failed`.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class Sourced:
    """A value with where it comes from, for a metric of which that differs from one candidate to the next."""

    value: bool | float
    provenance: Provenance
    """In place of the catalogue's."""
    secret: bool = False
    """Whether it is computed from evaluation data; what the catalogue calls secret is secret in any case."""


MetricValue = bool | float | Sourced | AgentFault | PlatformFault
"""A number, a boolean, or whose fault it is that there is neither."""


@runtime_checkable
class MetricExtractor(Protocol):
    """Computes named metrics of one candidate. Instances are shared by all candidates and keep nothing of them.

    Any other exception counts as a fault of the platform too.
    """

    async def extract(
        self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]
    ) -> Mapping[str, MetricValue]:
        """The metrics of `task_output`. One that cannot be computed is left out; it is never 0.

        `task_input`: the work's input overlaid by its evaluation data. `metadata`: the agent's execution metadata,
        and `platform_latency_ms` where the platform measured it.
        """
        ...

    def supported_metrics(self) -> list[str]:
        """The names of the metrics that `extract` can return."""
        ...


class DescribesMetrics(Protocol):
    """An extractor that can say more of its metrics than their names."""

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        """The catalogue's entry for each supported metric."""
        ...


class Selective(Protocol):
    """An extractor that can spare itself the metrics that no criterion names."""

    def only(self, metrics: frozenset[str]) -> MetricExtractor:
        """The same extractor, computing no more than these."""
        ...


class ChecksEvaluation(Protocol):
    """An extractor that can tell at submission that evaluation data will not do."""

    def check_evaluation(self, evaluation: Mapping[str, Any]) -> Iterable[Problem]:
        """Problems with their paths below `evaluation`. Messages quote no evaluation data."""
        ...


def is_selective(extractor: object) -> TypeGuard[Selective]:
    """Whether it has `only`. An attribute, not `isinstance`: that takes long for protocols."""
    return hasattr(extractor, "only")


def checks_evaluation(extractor: object) -> TypeGuard[ChecksEvaluation]:
    """Whether it has `check_evaluation`."""
    return hasattr(extractor, "check_evaluation")
