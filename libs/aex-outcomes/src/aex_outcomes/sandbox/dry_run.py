"""A work's custom code, tried before any agent works for it; and its reference, held against its own criteria."""

import asyncio
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from aex_models.criteria import SuccessCriteria
from aex_models.work import LintWarning, Problem
from aex_outcomes.engine.comparing import in_fractions, value_problem
from aex_outcomes.engine.verification import VerificationEngine
from aex_outcomes.extractors.custom import (
    CUSTOM_METRICS,
    CustomExtractor,
    code_name,
    custom_entry,
    entry_name,
    value_in,
)
from aex_outcomes.extractors.text import references_of
from aex_outcomes.reference_check import as_output, reference_warning
from aex_outcomes.sandbox.job import worker_sandbox
from aex_outcomes.sandbox.port import CodeFault, Context, FaultKind, Limits, Returned, Sandbox

JOB = f"{__name__}:dry_run"

_REFUSED = {
    FaultKind.TIMEOUT: "ran out of time",
    FaultKind.MEMORY: "ran out of memory",
    FaultKind.SYNTAX: "is not in the sandbox's Python",
}
"""Faults that no other candidate will mend."""

_COSTLY = frozenset({FaultKind.TIMEOUT, FaultKind.MEMORY})
"""Of those, the ones that take a worker's whole time: after one of them the rest is left untried."""

_ODD = {
    FaultKind.EXCEPTION: "raises",
    FaultKind.BAD_RESULT: "returns what is no metric",
    FaultKind.TOO_MUCH_OUTPUT: "prints more than is taken",
}
_SUGGESTION = "A candidate on which the code fails is held until somebody decides: let it return a number instead"
_MAX_KIND = 60

Oddity = tuple[FaultKind, str, str]
"""Which warning, what the code does, and in which line."""


def dry_run(payload: dict[str, Any]) -> dict[str, Any]:
    """Run each custom metric on an empty candidate and, where there is one, on the reference as a candidate's text.

    `payload`: `custom_metrics` (each `{name, code}`), `input`, `evaluation` (without custom metrics),
    `success_criteria` (or null), `config` (or null: the mapping of an `outcome-verification.yaml`).
    Returns `{"problems": […], "warnings": […]}`: a timeout or a memory fault is a problem, and ends the trial; an
    exception is a warning, and so is a result that a criterion cannot use. Findings tell lines, kinds of exceptions and
    names of entries, and never an exception's text or a value: they may quote evaluation data.
    Raises `SandboxUnavailable`, `InvalidConfig`, `UnknownMetric`, `InvalidMetricType`, `TooManyCriteria`, and
    pydantic's `ValidationError` for criteria that are none.
    """
    sandbox = worker_sandbox()
    engine = VerificationEngine(payload.get("config"), sandbox=sandbox)
    return asyncio.run(found_in(payload, engine, sandbox))


async def found_in(payload: Mapping[str, Any], engine: VerificationEngine, sandbox: Sandbox) -> dict[str, Any]:
    """What `dry_run` returns, by this engine and in this sandbox."""
    metrics, given = payload.get(CUSTOM_METRICS) or [], payload.get("evaluation") or {}
    work_input, wanted = payload.get("input") or {}, payload.get("success_criteria")
    criteria = None if wanted is None else SuccessCriteria.model_validate(wanted)
    outputs: dict[str, Any] = {"an empty candidate": {}}
    references = references_of(given)
    if references:
        outputs["the reference"] = as_output(references[0], engine)
    problems: list[Problem] = []
    warnings: list[LintWarning] = []
    for (position, metric), (candidate, output) in product(enumerate(metrics), outputs.items()):
        if problems and problems[-1].path == _path(position):
            continue  # refused already, on another candidate
        context = Context({**work_input, **given}, output, {})
        found = await _returned(sandbox, metric["code"], context, _limits(engine))
        if isinstance(found, CodeFault) and found.kind in _REFUSED:
            problems.append(_problem(found, position, candidate))
            if found.kind in _COSTLY:
                break  # the work is refused: more runs like this would keep the worker from others
            continue
        odd = _odd(found) if isinstance(found, CodeFault) else _unusable(found, metric["name"], criteria)
        if odd is not None:
            warnings.append(_warning(*odd, position, candidate))
    if criteria is not None and not problems:
        evaluation = {**given, CUSTOM_METRICS: metrics}
        warning = await reference_warning(criteria, work_input, evaluation, engine)
        warnings += [warning] if warning else []
    return {"problems": _dumped(problems), "warnings": _dumped(warnings)}


async def _returned(sandbox: Sandbox, code: str, context: Context, limits: Limits) -> Returned | CodeFault:
    try:
        return await sandbox.execute(code, context, limits)
    except CodeFault as fault:
        return fault


def _limits(engine: VerificationEngine) -> Limits:
    """Those that candidates will be held to; the defaults where custom metrics are off."""
    own = [each for each in engine.catalog.extractors.values() if isinstance(each, CustomExtractor)]
    return own[0].limits if own else Limits()


def _problem(fault: CodeFault, position: int, candidate: str) -> Problem:
    message = f"The code {_REFUSED[fault.kind]} on {candidate}{_where(fault)}"
    return Problem(path=_path(position), code=f"custom_metric_{fault.kind}", message=message)


def _odd(fault: CodeFault) -> Oddity:
    raised = f" {fault.message.partition(':')[0]}" if fault.kind is FaultKind.EXCEPTION else ""
    return fault.kind, f"{_ODD[fault.kind]}{raised[:_MAX_KIND]}", _where(fault)


def _unusable(returned: Returned, name: str, criteria: SuccessCriteria | None) -> Oddity | None:
    """The first criterion on this code that has no use for what it returned: such a candidate would be held."""
    for criterion in criteria.criteria if criteria else ():
        if code_name(criterion.metric) != name:
            continue
        value = value_in(returned, criterion.metric)
        if value is None:
            return FaultKind.BAD_RESULT, f"returns no entry {entry_name(criterion.metric)}", ""
        if value_problem(criterion, in_fractions(criterion, value), custom_entry(criterion.metric)) is not None:
            what = f"returns for {criterion.metric} what the type {criterion.metric_type} rules out"
            return FaultKind.BAD_RESULT, what, ""
    return None


def _warning(kind: FaultKind, what: str, where: str, position: int, candidate: str) -> LintWarning:
    return LintWarning(
        code=f"custom_metric_{kind}",
        path=_path(position),
        message=f"The code {what} on {candidate}{where}",
        suggestion=_SUGGESTION,
    )


def _path(position: int) -> str:
    return f"/evaluation/{CUSTOM_METRICS}/{position}/code"


def _where(fault: CodeFault) -> str:
    return f" (line {fault.line})" if fault.line else ""


def _dumped(findings: Sequence[Problem | LintWarning]) -> list[dict[str, Any]]:
    return [each.model_dump(mode="json") for each in findings]
