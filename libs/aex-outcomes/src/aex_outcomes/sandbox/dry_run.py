"""Dry run of the code in evaluation data, and check of their reference, before any agent starts."""

import asyncio
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from aex_models.criteria import SuccessCriteria
from aex_models.work import LintWarning, Problem
from aex_outcomes.engine.criteria import find_value_problem, to_fraction_if_custom_percent
from aex_outcomes.engine.slow_metrics import try_evaluation_code
from aex_outcomes.engine.verification import VerificationEngine
from aex_outcomes.extractors.custom import (
    CUSTOM_METRICS,
    CustomExtractor,
    build_custom_entry,
    find_returned_value,
    parse_result_key,
)
from aex_outcomes.extractors.text_quality import read_references
from aex_outcomes.metric_names import parse_custom_metric_name
from aex_outcomes.reference_check import build_reference_output, warn_if_references_fail
from aex_outcomes.sandbox.jobs import get_worker_sandbox
from aex_outcomes.sandbox.port import CodeFault, Context, FaultKind, Limits, Returned, Sandbox
from aex_outcomes.science_lint import make_lint_warning
from aex_outcomes.testing.jobs import get_worker_test_runner

JOB = f"{__name__}:dry_run"

_REFUSED = {
    FaultKind.TIMEOUT: "ran out of time",
    FaultKind.MEMORY: "ran out of memory",
    FaultKind.SYNTAX: "is not in the sandbox's Python",
}
"""Descriptions of faults by which code is refused, since they do not depend on the candidate."""

_COSTLY = frozenset({FaultKind.TIMEOUT, FaultKind.MEMORY})
"""Faults that take a worker's full time, so that they end the dry run."""
_EFFECTS = {
    FaultKind.EXCEPTION: "raises",
    FaultKind.BAD_RESULT: "returns what is no metric",
    FaultKind.TOO_MUCH_OUTPUT: "prints more than is taken",
}
_SUGGESTION = "A candidate on which the code fails is held for an operator: let it return a number instead"
_MAX_KIND = 60

DryRunWarning = tuple[FaultKind, str, str]
"""Kind of fault, its description, and its location in the code."""


def dry_run(payload: dict[str, Any]) -> dict[str, Any]:
    """Run each custom metric on an empty candidate and on one whose text is the reference.

    It is the job of a confined worker. If no metric has a problem, extractors try other code by `try_evaluation`.

    `payload`: `custom_metrics` (each `{name, code}`), `input`, `evaluation` (without custom metrics),
    `success_criteria` (or null), `config` (or null: the mapping of an `outcome-verification.yaml`).

    Returns `{"problems": […], "warnings": […]}`. Code that is not valid Python, or runs out of time or memory, is a
    problem; the last two end the dry run. An exception is a warning, and so is a result that a criterion cannot use.
    They have line numbers, types of exceptions and names of entries, but no exception's text and no value, which may
    quote evaluation data. Without problems `warn_if_references_fail` is applied too.

    Raises `SandboxUnavailable`, `InvalidConfig`, `UnknownMetric`, `InvalidMetricType`, `TooManyCriteria`, and
    pydantic's `ValidationError` for invalid criteria.
    """
    sandbox = get_worker_sandbox()
    engine = VerificationEngine(payload.get("config"), sandbox=sandbox, test_runner=get_worker_test_runner())
    return asyncio.run(collect_dry_run_findings(payload, engine, sandbox))


async def collect_dry_run_findings(
    payload: Mapping[str, Any], engine: VerificationEngine, sandbox: Sandbox
) -> dict[str, Any]:
    """Run the custom metrics with this engine and sandbox; return what `dry_run` returns."""
    metrics, evaluation = payload.get(CUSTOM_METRICS) or [], payload.get("evaluation") or {}
    work_input, criteria_json = payload.get("input") or {}, payload.get("success_criteria")
    criteria = None if criteria_json is None else SuccessCriteria.model_validate(criteria_json)
    outputs, limits = _outputs(evaluation, engine), _find_limits(engine)
    problems: list[Problem] = []
    warnings: list[LintWarning] = []
    for (position, metric), (candidate, output) in product(enumerate(metrics), outputs.items()):
        path = f"/evaluation/{CUSTOM_METRICS}/{position}/code"
        if problems and problems[-1].path == path:
            continue  # already refused on another candidate
        context = Context({**work_input, **evaluation}, output, {})
        try:
            found = _result_warning(await sandbox.execute(metric["code"], context, limits), metric["name"], criteria)
        except CodeFault as fault:
            if fault.kind in _REFUSED:
                message = f"The code {_REFUSED[fault.kind]} on {candidate}{_location(fault)}"
                problems.append(Problem(path=path, code=f"custom_metric_{fault.kind}", message=message))
                if fault.kind in _COSTLY:
                    break  # the work is refused: more runs like this would keep the worker from others
                continue
            found = _fault_warning(fault)
        if found is not None:
            kind, effect, location = found
            message = f"The code {effect} on {candidate}{location}"
            warnings.append(make_lint_warning(f"custom_metric_{kind}", path, message, _SUGGESTION))
    if not problems:
        problems, further_warnings = await try_evaluation_code(evaluation, engine.catalog)
        warnings += further_warnings
    if criteria is not None and not problems:
        evaluation = {**evaluation, CUSTOM_METRICS: metrics}
        warning = await warn_if_references_fail(criteria, work_input, evaluation, engine)
        warnings += [warning] if warning else []
    findings: dict[str, Sequence[Problem | LintWarning]] = {"problems": problems, "warnings": warnings}
    return {kind: [each.model_dump(mode="json") for each in found] for kind, found in findings.items()}


def _outputs(evaluation: Mapping[str, Any], engine: VerificationEngine) -> dict[str, Any]:
    references = read_references(evaluation)
    reference = {"the reference": build_reference_output(references[0], engine)} if references else {}
    return {"an empty candidate": {}, **reference}


def _find_limits(engine: VerificationEngine) -> Limits:
    extractors = engine.catalog.extractors.values()
    return next((each.limits for each in extractors if isinstance(each, CustomExtractor)), Limits())


def _fault_warning(fault: CodeFault) -> DryRunWarning:
    raised = f" {fault.message.partition(':')[0]}" if fault.kind is FaultKind.EXCEPTION else ""
    return fault.kind, f"{_EFFECTS[fault.kind]}{raised[:_MAX_KIND]}", _location(fault)


def _result_warning(returned: Returned, name: str, criteria: SuccessCriteria | None) -> DryRunWarning | None:
    """Return a warning about the first criterion that cannot use the returned value; None if all can."""
    for criterion in criteria.criteria if criteria else ():
        if parse_custom_metric_name(criterion.metric) != name:
            continue
        value = find_returned_value(returned, criterion.metric)
        if value is None:
            return FaultKind.BAD_RESULT, f"returns no entry {parse_result_key(criterion.metric)}", ""
        if (
            find_value_problem(
                criterion, to_fraction_if_custom_percent(criterion, value), build_custom_entry(criterion.metric)
            )
            is not None
        ):
            effect = f"returns for {criterion.metric} what the type {criterion.metric_type} rules out"
            return FaultKind.BAD_RESULT, effect, ""
    return None


def _location(fault: CodeFault) -> str:
    return f" (line {fault.line})" if fault.line else ""
