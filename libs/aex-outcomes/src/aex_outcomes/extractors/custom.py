"""Extractor of metrics that a consumer's own code computes in the sandbox."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from aex_models.catalog import Cost, MetricEntry
from aex_models.results import CUSTOM_METRIC_FAILED
from aex_models.thresholds import MetricType
from aex_models.work import Problem
from aex_outcomes.extractors.protocol import AgentFault, Metrics, PlatformFault
from aex_outcomes.metric_names import ANY_NAME, PREFIX, parse_custom_metric_name
from aex_outcomes.sandbox.jobs import DisposableSandbox
from aex_outcomes.sandbox.port import (
    MAX_CODE_BYTES,
    SANDBOX_UNAVAILABLE,
    CodeFault,
    Context,
    ContextNotJson,
    Limits,
    Number,
    Returned,
    Sandbox,
    SandboxUnavailable,
)
from aex_outcomes.sandbox.subset import check_code

CUSTOM_METRICS = "custom_metrics"
MAX_METRICS = 20
"""Maximum of custom metrics, each with its code, of one work."""
MAX_ALL_BYTES = 2 * MAX_CODE_BYTES
"""Maximum bytes of a work's code in total: Python's parser takes microseconds per byte and blocks other tasks."""

_TYPES = (
    MetricType.CUSTOM,
    MetricType.NUMERIC,
    MetricType.PERCENTAGE,
    MetricType.COUNT,
    MetricType.BOOLEAN,
    MetricType.LATENCY,
)


@dataclass(frozen=True, slots=True)
class CustomExtractor:
    """Extractor of `custom.NAME` and `custom.NAME.KEY`, which the consumer's code called NAME computes.

    `custom.NAME` is the number that the code returns, or the entry NAME of a returned dict; `custom.NAME.KEY` is its
    entry KEY. Each code that a criterion names runs once per candidate in the sandbox, and its failure affects only its
    own metrics. The code's `input` is the work's input with evaluation data, without the code.
    """

    sandbox: Sandbox = field(default_factory=DisposableSandbox)
    limits: Limits = field(default_factory=Limits)
    selected_metrics: frozenset[str] | None = None
    """Metrics to compute; None for all that the work's code returns."""
    version = "1 on pydantic-monty 1.4.0"

    def for_metrics(self, metrics: frozenset[str]) -> "CustomExtractor":
        """Return an extractor of these metrics alone; code that none of them names does not run."""
        return replace(self, selected_metrics=metrics)

    async def extract(self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]) -> Metrics:
        """Run the codes of the selected metrics, and return a value or a fault for each metric."""
        listed = [each for each in task_input.get(CUSTOM_METRICS) or () if isinstance(each, Mapping)]
        codes = {each["name"]: each["code"] for each in reversed(listed)}  # of equal names the first one counts
        visible_input = {key: value for key, value in task_input.items() if key != CUSTOM_METRICS}
        context = Context(visible_input, task_output, metadata)
        selected = (
            [f"{PREFIX}{name}" for name in codes] if self.selected_metrics is None else sorted(self.selected_metrics)
        )
        names_by_code: dict[str, list[str]] = {}
        for metric in selected:
            if (name := parse_custom_metric_name(metric)) is not None:
                names_by_code.setdefault(name, []).append(metric)
        metrics: Metrics = {}
        for name, names in names_by_code.items():
            found = await self._run(name, codes.get(name), context)
            if isinstance(found, AgentFault | PlatformFault):
                metrics |= dict.fromkeys(names, found)
                continue
            for metric in names if self.selected_metrics is not None else _returned_metrics(found, name):
                value = find_returned_value(found, metric)
                problem = f"{name}: bad_result: it returned no entry {parse_result_key(metric)}"
                metrics[metric] = PlatformFault(CUSTOM_METRIC_FAILED, problem) if value is None else value
        return metrics

    async def _run(self, name: str, code: str | None, context: Context) -> Returned | AgentFault | PlatformFault:
        if code is None:
            return PlatformFault(CUSTOM_METRIC_FAILED, f"evaluation.custom_metrics has no {name}")
        try:
            return await self.sandbox.execute(code, context, self.limits)
        except CodeFault as fault:
            where = f" (line {fault.line})" if fault.line else ""
            return PlatformFault(CUSTOM_METRIC_FAILED, f"{name}: {fault.kind}: {fault.message}{where}")
        except ContextNotJson as error:
            return AgentFault("not_json", f"the candidate is {error}")
        except SandboxUnavailable as error:
            return PlatformFault(SANDBOX_UNAVAILABLE, str(error))

    def max_seconds(self, task_input: Mapping[str, Any], metrics: frozenset[str] | None) -> float:
        """Return the time limit of the codes that the metrics name, or of all codes if `metrics` is None."""
        names = list_declared_code_names(task_input)
        if metrics is not None:
            names &= {parse_custom_metric_name(each) for each in metrics}
        return len(names) * self.limits.timeout_ms / 1_000

    def supported_metrics(self) -> list[str]:
        return [ANY_NAME]

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        return (build_custom_entry(ANY_NAME),)

    def check_evaluation(self, evaluation: Mapping[str, Any]) -> Iterable[Problem]:
        """Yield the problems of names, numbers and sizes of custom metrics, and of code that cannot run."""
        listed = evaluation.get(CUSTOM_METRICS)
        if isinstance(listed, list | tuple):
            yield from _name_problems(listed)
            codes = {
                position: code
                for position, each in enumerate(listed)
                if isinstance(each, Mapping) and isinstance(code := each.get("code"), str)
                if 0 < len(code) <= MAX_CODE_BYTES  # other problems of shape are reported elsewhere
            }
            sizes = list(_size_problems(len(listed), codes.values()))
            yield from sizes
            for position, code in codes.items() if not sizes else ():
                yield from check_code(code, f"/{CUSTOM_METRICS}/{position}/code")


def build_custom_entry(name: str) -> MetricEntry:
    """Return the catalogue entry of a custom metric, whose range is unknown."""
    return MetricEntry(
        name=name,
        description="Value that the work's own code returns, as a number or as an entry of a dict.",
        unit="as the code says",
        metric_types=_TYPES,
        needs=(CUSTOM_METRICS,),
        secret=True,
        cost=Cost.SLOW,
    )


def list_declared_code_names(evaluation: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the custom metrics that unvalidated evaluation data declare."""
    listed = evaluation.get(CUSTOM_METRICS)
    named = (
        [each.get("name") for each in listed if isinstance(each, Mapping)] if isinstance(listed, list | tuple) else []
    )
    return frozenset(name for name in named if isinstance(name, str))


def _returned_metrics(returned: Returned, name: str) -> list[str]:
    if returned.value is not None:
        return [f"{PREFIX}{name}"]
    return [f"{PREFIX}{name}" if key == name else f"{PREFIX}{name}.{key}" for key in returned.metrics]


def find_returned_value(returned: Returned, metric: str) -> Number | None:
    """Return the number that code returned for `custom.NAME` or `custom.NAME.KEY`; None if it has none."""
    if metric.count(".") == 1 and returned.value is not None:
        return returned.value
    return returned.metrics.get(parse_result_key(metric))


def parse_result_key(metric: str) -> str:
    """Return a metric's key in a dict that code returns: KEY of `custom.NAME.KEY`, NAME of `custom.NAME`."""
    name, _, key = metric.removeprefix(PREFIX).partition(".")
    return key or name


def _size_problems(number: int, codes: Iterable[str]) -> Iterator[Problem]:
    size = sum(len(code.encode("utf-8", "replace")) for code in codes)
    if size > MAX_ALL_BYTES:
        message = f"Custom metrics may have {MAX_ALL_BYTES} bytes of code in all; these have {size}"
        yield Problem(path=f"/{CUSTOM_METRICS}", code="code_too_large", message=message)
    if number > MAX_METRICS:
        message = f"At most {MAX_METRICS} custom metrics; these are {number}"
        yield Problem(path=f"/{CUSTOM_METRICS}", code="too_many_custom_metrics", message=message)


def _name_problems(listed: Sequence[Any]) -> Iterator[Problem]:
    first_of: dict[str, int] = {}
    for position, each in enumerate(listed):
        name = each.get("name") if isinstance(each, Mapping) else None
        if not isinstance(name, str):
            continue
        path = f"/{CUSTOM_METRICS}/{position}/name"
        if parse_custom_metric_name(f"{PREFIX}{name}") != name:
            message = (
                "A custom metric's name has letters, digits, dashes and underscores, begins with no digit, and no dot"
            )
            yield Problem(path=path, code="invalid_name", message=message)
        if (first := first_of.setdefault(name, position)) != position:
            message = f"Custom metrics {first} and {position} have the same name"
            yield Problem(path=path, code="duplicate_custom_metric", message=message)
