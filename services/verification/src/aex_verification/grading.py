"""Grading and trials in confined worker processes. Slow metrics have the sandbox's own pool."""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from aex_models.results import VerificationResult
from aex_outcomes.catalog import Catalog
from aex_outcomes.confinement.settings import (
    ConfinementError,
    JobCrashed,
    JobFailed,
    JobTimeout,
    PoolBusy,
    PoolClosed,
    WorkersUnavailable,
)
from aex_outcomes.engine.local import dump_evaluation
from aex_outcomes.engine.slow_metrics import compute_max_dry_run_seconds, compute_max_slow_seconds, has_slow_metric
from aex_outcomes.sandbox.port import SandboxUnavailable
from aex_runtime.measures import UNMEASURED
from aex_runtime.telemetry import add_span_attributes, mark_span_failed, trace_step
from aex_runtime.tracing.spans import build_span_attributes_of_ids
from aex_verification.measures import ExtractionTimes
from aex_verification.ports import (
    Grade,
    GradeRequest,
    JobRunner,
    SandboxRunner,
    TrialBroken,
    TrialLost,
    TrialRequest,
    TrialUnavailable,
)
from aex_verification.rules.checks import TrialFindings, UnreadableFindings, parse_trial_findings
from aex_verification.rules.records import GovernanceFacts
from aex_verification.rules.verdicts import lacks_sandbox

JOB = "aex_outcomes.engine.job:verify_candidate"
JOB_OF_SEVERAL = "aex_outcomes.engine.job:verify_candidates"
DRY_RUN = "aex_outcomes.sandbox.dry_run:dry_run"
CHECK_REFERENCE = "aex_outcomes.reference_check:check_references_against_criteria"
WARM = ("rapidfuzz.distance", "rapidfuzz.fuzz", "re2", "jsonschema_rs")
"""Modules that workers import before their first job, so that no candidate waits for it."""
MAX_RESULT_BYTES = 16 * 1024 * 1024
"""Size limit of a worker's result. Honest results are smaller, though they repeat every threshold and schema."""
_MAX_SLOW_S = 600.0
"""Seconds for all slow metrics of a work together."""


class ConfinedGrader:
    """Grader of candidates and runner of trials, in confined workers.

    Each consumer has one queue for candidates and one for trials. `timeout_s` limits a job without slow metrics; those
    of the catalogue have their own time limits.
    """

    def __init__(
        self,
        pool: JobRunner,
        sandbox: SandboxRunner,
        catalog: Catalog,
        timeout_s: float,
        times: ExtractionTimes | None = None,
    ) -> None:
        self._pool, self._sandbox, self._timeout_s = pool, sandbox, timeout_s
        self._catalog, self._config = catalog, catalog.config.as_json()
        self._times = times or ExtractionTimes(UNMEASURED, ())

    async def grade(self, request: GradeRequest) -> Grade:
        """Return the grade of a candidate; a failed worker gives a grade without result."""
        with trace_step("verify candidate", build_span_attributes_of_ids(request.contract_id, request.attempt_id)):
            grade = await self._grade(request)
            if grade.result is None:
                mark_span_failed(grade.error or "unknown")
            else:
                add_span_attributes({"aex.verdict": grade.result.verdict.value})
        return grade

    async def _grade(self, request: GradeRequest) -> Grade:
        try:
            answer = await self._run(request)
        except (ConfinementError, SandboxUnavailable) as error:
            return Grade(None, error=type(error).__name__)
        try:
            result = VerificationResult.model_validate(answer["result"])
            facts = GovernanceFacts.model_validate({name: answer[name] for name in GovernanceFacts.model_fields})
        except (ValidationError, KeyError) as error:
            # The process touched hostile data: its text is not for the log.
            return Grade(None, error=f"UnreadableAnswer ({type(error).__name__})")
        self._times.record_reported_seconds(answer.get("seconds"))
        self._times.record_hidden_tests(result.details)
        if lacks_sandbox(result):
            self._sandbox.mark_unhealthy()
        return Grade(result, facts)

    async def grade_together(self, requests: Sequence[GradeRequest]) -> list[Grade] | None:
        """Return the grades of candidates that share everything but output, metadata and evaluation data.

        They take one job, whose time limit is that of one candidate. Return None if the job failed; then each has to
        be graded alone.
        """
        if has_slow_metric(requests[0].success_criteria, self._catalog):
            return None
        try:
            answer = await self._pool.run(
                JOB_OF_SEVERAL, make_group_payload(requests, self._config), queue=requests[0].consumer_id
            )
            results = [VerificationResult.model_validate(each) for each in answer["results"]]
        except (
            JobTimeout,
            JobCrashed,
            JobFailed,
            PoolBusy,
            PoolClosed,
            WorkersUnavailable,
            ValidationError,
            KeyError,
            TypeError,
        ):
            return None
        if len(results) != len(requests):
            return None
        reported = answer.get("seconds")
        for seconds in reported if isinstance(reported, list) else ():
            self._times.record_reported_seconds(seconds)
        return [Grade(each) for each in results]

    async def _run(self, request: GradeRequest) -> dict[str, Any]:
        payload = make_job_payload(request, self._config)
        task_input = {**payload["work_input"], **(payload["evaluation"] or {})}
        slow_s = compute_max_slow_seconds(request.success_criteria, task_input, self._catalog)
        if slow_s:
            return await self._run_slow(JOB, payload, slow_s, request.consumer_id)
        return await self._pool.run(JOB, payload, queue=request.consumer_id)

    async def _run_slow(self, job: str, payload: dict[str, Any], slow_s: float, queue: str) -> dict[str, Any]:
        return await self._sandbox.run(job, payload, self._timeout_s + min(slow_s, _MAX_SLOW_S), queue=queue)

    async def dry_run(self, request: TrialRequest) -> TrialFindings:
        """Run the trial of a work and return its findings.

        Raises `TrialUnavailable`, `TrialLost` and `TrialBroken`.
        """
        try:
            with trace_step("try work"):
                answer = await self._try(request)
            return parse_trial_findings(answer)
        except (JobTimeout, JobCrashed, UnreadableFindings) as error:
            raise TrialLost(type(error).__name__) from None
        except JobFailed as error:  # its message may quote the data
            raise TrialBroken(error.kind) from None
        except (ConfinementError, SandboxUnavailable) as error:
            raise TrialUnavailable(type(error).__name__) from None

    async def _try(self, request: TrialRequest) -> dict[str, Any]:
        payload, queue = _make_trial_payload(request, self._config), f"trials of {request.consumer_id}"
        if request.evaluation.has_code:
            evaluation = {**payload["evaluation"], "custom_metrics": payload["custom_metrics"]}
            slow_s = compute_max_dry_run_seconds(evaluation, self._catalog)
            return await self._run_slow(DRY_RUN, payload, slow_s, queue)
        warning = (await self._pool.run(CHECK_REFERENCE, payload, queue=queue)).get("warning")
        return {"problems": [], "warnings": [] if warning is None else [warning]}


def make_verification_id(attempt_id: str) -> str:
    """Return the id of the verification of an attempt."""
    return f"ver_{attempt_id.removeprefix('att_')}"


def make_job_payload(request: GradeRequest, config: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON input of the grading job for this request."""
    criteria = request.success_criteria
    return {
        "contract_id": request.contract_id,
        "verification_id": make_verification_id(request.attempt_id),
        "success_criteria": criteria.model_dump(mode="json") if criteria else None,
        "work_input": dict(request.work_input),
        "evaluation": dump_evaluation(request.evaluation),
        "output": request.output,
        "execution_metadata": request.execution_metadata.model_dump(mode="json", exclude_none=True),
        "platform_latency_ms": request.platform_latency_ms,
        "reasoning": request.reasoning,
        "earlier": dict(request.earlier),
        "science": request.science.model_dump(mode="json") if request.science else None,
        "config": config,
    }


def make_group_payload(requests: Sequence[GradeRequest], config: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON input of the job for several candidates; shared keys are those of the first request."""
    first = requests[0]
    shared = make_job_payload(first, config)
    del shared["output"], shared["execution_metadata"], shared["verification_id"]
    return {**shared, "candidates": [_make_own_payload(each, first) for each in requests]}


def _make_own_payload(request: GradeRequest, first: GradeRequest) -> dict[str, Any]:
    """Return the part of a job's input that `request` does not share with the first one."""
    payload: dict[str, Any] = {
        "verification_id": make_verification_id(request.attempt_id),
        "output": request.output,
        "execution_metadata": request.execution_metadata.model_dump(mode="json", exclude_none=True),
    }
    if request.evaluation is not first.evaluation:
        payload["evaluation"] = dump_evaluation(request.evaluation)
    return payload


def _make_trial_payload(request: TrialRequest, config: dict[str, Any]) -> dict[str, Any]:
    evaluation = request.evaluation.model_dump(mode="json", exclude_none=True)
    criteria = request.success_criteria
    return {
        "custom_metrics": evaluation.pop("custom_metrics", []),
        "input": dict(request.work_input),
        "evaluation": evaluation,
        "success_criteria": criteria.model_dump(mode="json") if criteria else None,
        "config": config,
    }
