"""Metrics that a consumer's own code computes, in the sandbox."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from aex_models.catalog import MetricEntry
from aex_models.results import CUSTOM_METRIC_FAILED
from aex_models.thresholds import MetricType
from aex_models.work import Problem
from aex_outcomes.custom_names import ANY_NAME, PREFIX
from aex_outcomes.extractors.protocol import AgentFault, MetricValue, PlatformFault
from aex_outcomes.sandbox.disposable import DisposableSandbox
from aex_outcomes.sandbox.port import (
    MAX_CODE_BYTES,
    SANDBOX_UNAVAILABLE,
    CodeFault,
    Context,
    Limits,
    NotJson,
    Number,
    Returned,
    Sandbox,
    SandboxUnavailable,
)
from aex_outcomes.sandbox.subset import code_problems

CUSTOM_METRICS = "custom_metrics"

MAX_METRICS = 20
"""Pieces of code that one work may bring."""

MAX_ALL_BYTES = 2 * MAX_CODE_BYTES
"""All of them together: Python's parser takes some microseconds for each byte, and lets nobody else work meanwhile."""

_NAME = re.compile(r"custom\.([A-Za-z_][A-Za-z0-9_-]*)(?:\.([A-Za-z0-9_.-]+))?")
_MAX_NAME = 128
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
    """`custom.NAME`: the number that the code NAME returns, or the entry NAME of the dict that it returns.
    `custom.NAME.KEY`: the entry KEY of that dict.

    Each piece of code that a criterion names runs once for a candidate, and one that fails takes nothing from the
    others. What it sees as `input` is the work's input and evaluation data, without the code itself.
    """

    sandbox: Sandbox = field(default_factory=DisposableSandbox)
    limits: Limits = field(default_factory=Limits)
    wanted: frozenset[str] | None = None
    """None: whatever the code of the work returns."""
    version = "1 on pydantic-monty 1.4.0"

    def only(self, metrics: frozenset[str]) -> "CustomExtractor":
        """The same extractor, for these metrics: code that none of them names does not run."""
        return replace(self, wanted=metrics)

    async def extract(
        self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]
    ) -> dict[str, MetricValue]:
        """A value or a fault for each wanted metric."""
        codes = _codes(task_input)
        seen = {key: value for key, value in task_input.items() if key != CUSTOM_METRICS}
        context = Context(seen, task_output, metadata)
        metrics: dict[str, MetricValue] = {}
        for name, asked in _asked(codes, self.wanted).items():
            found = await self._run(name, codes.get(name), context)
            if isinstance(found, AgentFault | PlatformFault):
                metrics |= dict.fromkeys(asked, found)
            else:
                metrics |= {
                    metric: _entry(found, metric)
                    for metric in (asked if self.wanted is not None else _all(found, name))
                }
        return metrics

    async def _run(self, name: str, code: str | None, context: Context) -> Returned | AgentFault | PlatformFault:
        if code is None:
            return PlatformFault(CUSTOM_METRIC_FAILED, f"evaluation.custom_metrics has no {name}")
        try:
            return await self.sandbox.execute(code, context, self.limits)
        except CodeFault as fault:
            where = f" (line {fault.line})" if fault.line else ""
            return PlatformFault(CUSTOM_METRIC_FAILED, f"{name}: {fault.kind}: {fault.message}{where}")
        except NotJson as error:
            return AgentFault("not_json", f"the candidate is {error}")
        except SandboxUnavailable as error:
            return PlatformFault(SANDBOX_UNAVAILABLE, str(error))

    def supported_metrics(self) -> list[str]:
        """One entry for all: what there is, each work says."""
        return [ANY_NAME]

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        """The entry `custom.*`."""
        return (custom_entry(ANY_NAME),)

    def check_evaluation(self, evaluation: Mapping[str, Any]) -> Iterable[Problem]:
        """Names that differ and have no dot, and code that the sandbox can run."""
        listed = evaluation.get(CUSTOM_METRICS)
        if isinstance(listed, list | tuple):
            yield from _name_problems(listed)
            yield from list(_size_problems(listed)) or _all_code_problems(listed)


def custom_entry(name: str) -> MetricEntry:
    """The catalogue's entry of a custom metric: its range nobody knows."""
    return MetricEntry(name=name, unit="as the code says", metric_types=_TYPES, needs=(CUSTOM_METRICS,), secret=True)


def code_name(metric: str) -> str | None:
    """The NAME in `custom.NAME` or `custom.NAME.KEY`; None for what is neither."""
    found = _NAME.fullmatch(metric) if len(metric) <= _MAX_NAME else None
    return found.group(1) if found else None


def declared_names(evaluation: Mapping[str, Any]) -> frozenset[str]:
    """The names of the code in evaluation data, as far as their shape is right."""
    listed = evaluation.get(CUSTOM_METRICS)
    each_of = listed if isinstance(listed, list | tuple) else ()
    return frozenset(
        name for each in each_of if isinstance(each, Mapping) and isinstance(name := each.get("name"), str)
    )


def _codes(task_input: Mapping[str, Any]) -> dict[str, str]:
    """Name → code; of two with one name the first, as a submission with both is refused anyway."""
    listed = task_input.get(CUSTOM_METRICS)
    pairs = [(each["name"], each["code"]) for each in listed if isinstance(each, Mapping)] if listed else []
    return dict(reversed(pairs))


def _asked(codes: Mapping[str, str], wanted: frozenset[str] | None) -> dict[str, list[str]]:
    """Name of the code → the metrics that are asked of it."""
    asked: dict[str, list[str]] = {}
    for metric in sorted(wanted) if wanted is not None else [f"{PREFIX}{name}" for name in codes]:
        name = code_name(metric)
        if name is not None:
            asked.setdefault(name, []).append(metric)
    return asked


def _all(returned: Returned, name: str) -> list[str]:
    """The metrics that there are in what a code returned."""
    if returned.value is not None:
        return [f"{PREFIX}{name}"]
    return [f"{PREFIX}{name}" if key == name else f"{PREFIX}{name}.{key}" for key in returned.metrics]


def value_in(returned: Returned, metric: str) -> Number | None:
    """What code returned for a metric: the sole number, or the metric's entry; None where there is no such thing."""
    if metric.count(".") == 1 and returned.value is not None:
        return returned.value
    return returned.metrics.get(entry_name(metric))


def entry_name(metric: str) -> str:
    """KEY of `custom.NAME.KEY`, and NAME of `custom.NAME`: the entry that is called like the code."""
    name, _, key = metric.removeprefix(PREFIX).partition(".")
    return key or name


def _entry(returned: Returned, metric: str) -> MetricValue:
    value = value_in(returned, metric)
    if value is not None:
        return value
    message = f"{code_name(metric)}: bad_result: it returned no entry {entry_name(metric)}"
    return PlatformFault(CUSTOM_METRIC_FAILED, message)


def _all_code_problems(listed: Sequence[Any]) -> Iterator[Problem]:
    for position, code in _texts(listed):
        yield from code_problems(code, f"/{CUSTOM_METRICS}/{position}/code")


def _texts(listed: Sequence[Any]) -> Iterator[tuple[int, str]]:
    """Each piece of code whose shape is right, with its position: of the others the shape's problem is enough."""
    for position, each in enumerate(listed):
        code = each.get("code") if isinstance(each, Mapping) else None
        if isinstance(code, str) and 0 < len(code) <= MAX_CODE_BYTES:
            yield position, code


def _size_problems(listed: Sequence[Any]) -> Iterator[Problem]:
    """More code than is looked at."""
    size = sum(len(code.encode("utf-8", "replace")) for _, code in _texts(listed))
    if size > MAX_ALL_BYTES:
        message = f"Custom metrics may have {MAX_ALL_BYTES} bytes of code in all; these have {size}"
        yield Problem(path=f"/{CUSTOM_METRICS}", code="code_too_large", message=message)
    if len(listed) > MAX_METRICS:
        message = f"At most {MAX_METRICS} custom metrics; these are {len(listed)}"
        yield Problem(path=f"/{CUSTOM_METRICS}", code="too_many_custom_metrics", message=message)


def _name_problems(listed: Sequence[Any]) -> Iterator[Problem]:
    first_of: dict[str, int] = {}
    for position, each in enumerate(listed):
        name = each.get("name") if isinstance(each, Mapping) else None
        if not isinstance(name, str):
            continue
        path = f"/{CUSTOM_METRICS}/{position}/name"
        if code_name(f"{PREFIX}{name}") != name:
            message = (
                "A custom metric's name has letters, digits, dashes and underscores, begins with no digit, and no dot"
            )
            yield Problem(path=path, code="invalid_name", message=message)
        first = first_of.setdefault(name, position)
        if first != position:
            message = f"Custom metrics {first} and {position} have the same name"
            yield Problem(path=path, code="duplicate_custom_metric", message=message)
