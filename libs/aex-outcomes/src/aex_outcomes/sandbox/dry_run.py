"""A work's custom code, tried before any agent works for it; and its reference, held against its own criteria."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from aex_models.criteria import SuccessCriteria
from aex_models.work import LintWarning, Problem
from aex_outcomes.engine.verification import VerificationEngine
from aex_outcomes.extractors.custom import CUSTOM_METRICS, CustomExtractor
from aex_outcomes.extractors.text import references_of
from aex_outcomes.reference_check import as_output, reference_warning
from aex_outcomes.sandbox.job import worker_sandbox
from aex_outcomes.sandbox.port import CodeFault, Context, FaultKind, Limits, Sandbox

JOB = f"{__name__}:dry_run"

_REFUSED = {
    FaultKind.TIMEOUT: "ran out of time",
    FaultKind.MEMORY: "ran out of memory",
    FaultKind.SYNTAX: "is not in the sandbox's Python",
}
"""Faults that no other candidate will mend."""

_ODD = {
    FaultKind.EXCEPTION: "raises",
    FaultKind.BAD_RESULT: "returns what is no metric",
    FaultKind.TOO_MUCH_OUTPUT: "prints more than is taken",
}
_SUGGESTION = "A candidate on which the code fails is held until somebody decides: let it return a number instead"
_MAX_KIND = 60


def dry_run(payload: dict[str, Any]) -> dict[str, Any]:
    """Run each custom metric on an empty candidate and, where there is one, on the reference as a candidate's text.

    `payload`: `custom_metrics` (each `{name, code}`), `input`, `evaluation` (without custom metrics),
    `success_criteria` (or null), `config` (or null: the mapping of an `outcome-verification.yaml`).
    Returns `{"problems": […], "warnings": […]}`: a timeout or a memory fault is a problem, an exception a warning.
    Findings tell lines and kinds of exceptions, and never their text: it may quote evaluation data.
    Raises `SandboxUnavailable`, `InvalidConfig`, `UnknownMetric`.
    """
    sandbox = worker_sandbox()
    engine = VerificationEngine(payload.get("config"), sandbox=sandbox)
    return asyncio.run(_tried(payload, engine, sandbox))


async def _tried(payload: Mapping[str, Any], engine: VerificationEngine, sandbox: Sandbox) -> dict[str, Any]:
    metrics, given = payload.get(CUSTOM_METRICS) or [], payload.get("evaluation") or {}
    work_input, criteria = payload.get("input") or {}, payload.get("success_criteria")
    outputs: dict[str, Any] = {"an empty candidate": {}}
    references = references_of(given)
    if references:
        outputs["the reference"] = as_output(references[0], engine)
    problems: list[Problem] = []
    warnings: list[LintWarning] = []
    for position, metric in enumerate(metrics):
        for candidate, output in outputs.items():
            fault = await _fault(sandbox, metric["code"], Context({**work_input, **given}, output, {}), _limits(engine))
            if fault is not None and fault.kind in _REFUSED:
                problems.append(_problem(fault, position, candidate))
                break  # the work is refused: another run would only hold the worker for as long again
            if fault is not None:
                warnings.append(_warning(fault, position, candidate))
    if criteria is not None and not problems:
        evaluation = {**given, CUSTOM_METRICS: metrics}
        warning = await reference_warning(SuccessCriteria.model_validate(criteria), work_input, evaluation, engine)
        warnings += [warning] if warning else []
    return {"problems": _dumped(problems), "warnings": _dumped(warnings)}


async def _fault(sandbox: Sandbox, code: str, context: Context, limits: Limits) -> CodeFault | None:
    try:
        await sandbox.execute(code, context, limits)
    except CodeFault as fault:
        return fault
    return None


def _limits(engine: VerificationEngine) -> Limits:
    """Those that candidates will be held to; the defaults where custom metrics are off."""
    own = [each for each in engine.catalog.extractors.values() if isinstance(each, CustomExtractor)]
    return own[0].limits if own else Limits()


def _problem(fault: CodeFault, position: int, candidate: str) -> Problem:
    message = f"The code {_REFUSED[fault.kind]} on {candidate}{_where(fault)}"
    return Problem(path=_path(position), code=f"custom_metric_{fault.kind}", message=message)


def _warning(fault: CodeFault, position: int, candidate: str) -> LintWarning:
    raised = f" {fault.message.partition(':')[0]}" if fault.kind is FaultKind.EXCEPTION else ""
    return LintWarning(
        code=f"custom_metric_{fault.kind}",
        path=_path(position),
        message=f"The code {_ODD[fault.kind]}{raised[:_MAX_KIND]} on {candidate}{_where(fault)}",
        suggestion=_SUGGESTION,
    )


def _path(position: int) -> str:
    return f"/evaluation/{CUSTOM_METRICS}/{position}/code"


def _where(fault: CodeFault) -> str:
    return f" (line {fault.line})" if fault.line else ""


def _dumped(findings: Sequence[Problem | LintWarning]) -> list[dict[str, Any]]:
    return [each.model_dump(mode="json") for each in findings]
