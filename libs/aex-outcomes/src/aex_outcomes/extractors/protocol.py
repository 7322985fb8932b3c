"""Protocol of metric extractors, and the values and faults that they return."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from aex_models.results import Provenance
from aex_models.work import LintWarning, Problem


class MetricFault(Exception):
    """Error of a metric that cannot be computed.

    An extractor raises it for all of its metrics, or returns it in place of one metric's value.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class AgentFault(MetricFault):
    """Error of a metric that cannot be computed because of the candidate: its criteria are unmet.

    The message may state the size of evaluation data, but never quotes them.
    """


class PlatformFault(MetricFault):
    """Error of a metric that cannot be computed by the platform's fault: the verdict is indeterminate.

    Only the consumer may read the message of one with the code `custom_metric_failed`.
    """


@dataclass(frozen=True, slots=True)
class Sourced:
    """Value with its own provenance, for a metric whose provenance differs between candidates."""

    value: bool | float
    provenance: Provenance
    """Provenance that replaces the one in the catalogue."""
    secret: bool = False
    """True if evaluation data determine the value; a metric that is secret in the catalogue is always secret."""


@dataclass(frozen=True, slots=True)
class Detailed:
    """Value or fault of a metric with further figures, which consumer and operator may read."""

    value: "bool | float | AgentFault | PlatformFault"
    details: Any
    """JSON value; the details of a result have 64 kB in all."""


MetricValue = bool | float | Sourced | Detailed | AgentFault | PlatformFault
Metrics = dict[str, MetricValue]


@runtime_checkable
class MetricExtractor(Protocol):
    """Extractor of metrics from candidates; an instance is shared and stores no candidate.

    It may have six further methods. `for_metrics(metrics)` returns an extractor of these metrics alone.
    `at_pointer(pointer)` returns an extractor that measures the part of the output at this JSON pointer.
    `check_evaluation(evaluation)` yields the problems of evaluation data, with paths below `evaluation` and without
    quotations; `for_metrics` restricts it to the metrics of the criteria. `catalog_entries()` returns the
    `MetricEntry`s of the metrics.

    Two of them are for slow metrics. `max_seconds(task_input, metrics)` returns the time limit of one run in seconds.
    It is 0 if no code would run; `metrics` is None for all metrics that the data allow. The coroutine function
    `try_evaluation(evaluation)` runs code of evaluation data without a candidate. It returns problems and warnings, as
    `check_evaluation` does.
    """

    async def extract(
        self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]
    ) -> Mapping[str, MetricValue]:
        """Return the metrics of a candidate's output; a metric without a value is left out and never 0.

        `task_input`: the work's input overlaid by its evaluation data. `metadata`: the agent's execution metadata, and
        `platform_latency_ms` if the platform measured it. Any exception but `AgentFault` is a fault of the platform.
        """
        ...

    def supported_metrics(self) -> list[str]:
        """Return the names of the metrics that `extract` can return."""
        ...


def restrict_to_metrics_if_supported(extractor: Any, metrics: frozenset[str]) -> MetricExtractor:
    """Return an extractor of these metrics alone if it has `for_metrics`, else the extractor itself."""
    restricted: MetricExtractor = extractor.for_metrics(metrics) if hasattr(extractor, "for_metrics") else extractor
    return restricted


def relocate_extractor(extractor: Any, pointer: str | None) -> MetricExtractor:
    """Return an extractor that reads the output at this JSON pointer; with None, the extractor itself."""
    moved: MetricExtractor = extractor if pointer is None else extractor.at_pointer(pointer)
    return moved


def compute_max_seconds(extractor: Any, task_input: Mapping[str, Any], metrics: frozenset[str] | None) -> float:
    """Return the extractor's `max_seconds`; 0 if it has no such method."""
    seconds: float = getattr(extractor, "max_seconds", lambda *_: 0.0)(task_input, metrics)
    return seconds


async def try_evaluation(extractor: Any, evaluation: Mapping[str, Any]) -> Iterable[Problem | LintWarning]:
    """Return the findings of the extractor's `try_evaluation`; none if it has no such method."""
    found: Iterable[Problem | LintWarning] = ()
    if hasattr(extractor, "try_evaluation"):
        found = await extractor.try_evaluation(evaluation)
    return found


def check_evaluation(extractor: Any, evaluation: Mapping[str, Any]) -> Iterable[Problem]:
    """Return the problems that the extractor's `check_evaluation` finds; none if it has no such method."""
    found: Iterable[Problem] = getattr(extractor, "check_evaluation", lambda _: ())(evaluation)
    return found
