"""Verdicts from the engine, in a confined worker process: never on the event loop.

What runs custom code goes to the sandbox's own pool, everything else to the ordinary one.
"""

from typing import Any, Protocol

from pydantic import ValidationError

from aex_models.results import VerificationResult
from aex_outcomes.confinement.errors import ConfinementError
from aex_outcomes.sandbox.port import SandboxUnavailable
from aex_runtime.measures import UNMEASURED
from aex_runtime.telemetry import describe_span, failed, step
from aex_runtime.tracing.subjects import about
from aex_verification.measures import ExtractionTimes
from aex_verification.ports import Judgement, JudgeRequest
from aex_verification.rules.custom_code import custom_runs, custom_seconds, misses_the_sandbox
from aex_verification.rules.records import Facts

JOB = "aex_outcomes.engine.job:verify_candidate"
WARM = ("rapidfuzz.distance", "re2", "jsonschema_rs")
"""What the job would otherwise import while the first candidate waits."""
MAX_RESULT_BYTES = 16 * 1024 * 1024
"""A result echoes every threshold, and a schema may be one: larger than any honest one, small enough to hold."""


class Runner(Protocol):
    """Runs a named job somewhere safe: a worker pool, or the sandbox."""

    async def run(
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, lane: str = ""
    ) -> dict[str, Any]: ...


class Sandbox(Runner, Protocol):
    """A runner that can be told that it does not do what it is for."""

    def doubt(self) -> None: ...


class ConfinedJudge:
    """Sends each candidate to a worker; one lane for each consumer, so that nobody's flood starves the others.

    `timeout_s`: what a verdict may take without custom code; `custom_timeout_ms`: what each run of that may take;
    `times`: who is told how long extractors took.
    """

    def __init__(
        self,
        pool: Runner,
        sandbox: Sandbox,
        config: dict[str, Any],
        timeout_s: float,
        custom_timeout_ms: int,
        times: ExtractionTimes | None = None,
    ) -> None:
        self._pool, self._sandbox, self._config = pool, sandbox, config
        self._timeout_s, self._custom_timeout_ms = timeout_s, custom_timeout_ms
        self._times = times or ExtractionTimes(UNMEASURED, ())

    async def judge(self, request: JudgeRequest) -> Judgement:
        """The engine's judgement; what happens to the worker is the platform's failure, not the candidate's."""
        with step("verify candidate", about(request.contract_id, request.attempt_id)):
            judgement = await self._judgement(request)
            if judgement.result is None:
                failed(judgement.error or "unknown")
            else:
                describe_span({"aex.verdict": judgement.result.verdict.value})
        return judgement

    async def _judgement(self, request: JudgeRequest) -> Judgement:
        try:
            answer = await self._answer(request)
        except (ConfinementError, SandboxUnavailable) as error:
            return Judgement(None, Facts(), error=type(error).__name__)
        try:
            judgement = Judgement(VerificationResult.model_validate(answer["result"]), facts_of(answer))
        except (ValidationError, KeyError) as error:
            # The answer comes from a process that touched hostile data; its text is not for the log.
            return Judgement(None, Facts(), error=f"UnreadableAnswer ({type(error).__name__})")
        self._times.tell(answer.get("seconds"))
        if judgement.result is not None and misses_the_sandbox(judgement.result):
            self._sandbox.doubt()
        return judgement

    async def _answer(self, request: JudgeRequest) -> dict[str, Any]:
        payload = job_payload(request, self._config)
        runs = custom_runs(request.success_criteria, request.evaluation)
        if not runs:
            return await self._pool.run(JOB, payload, lane=request.consumer_id)
        timeout_s = self._timeout_s + custom_seconds(runs, self._custom_timeout_ms)
        return await self._sandbox.run(JOB, payload, timeout_s, lane=request.consumer_id)


def job_payload(request: JudgeRequest, config: dict[str, Any]) -> dict[str, Any]:
    """What the worker is sent: all that the verdict and the facts read, as JSON."""
    criteria = request.success_criteria
    return {
        "contract_id": request.contract_id,
        "verification_id": f"ver_{request.attempt_id.removeprefix('att_')}",
        "success_criteria": criteria.model_dump(mode="json") if criteria else None,
        "work_input": dict(request.work_input),
        "evaluation": request.evaluation.model_dump(mode="json", exclude_none=True) if request.evaluation else None,
        "output": request.output,
        "execution_metadata": request.execution_metadata.model_dump(mode="json", exclude_none=True),
        "platform_latency_ms": request.platform_latency_ms,
        "reasoning": request.reasoning,
        "earlier": dict(request.earlier),
        "science": request.science.model_dump(mode="json") if request.science else None,
        "config": config,
    }


def facts_of(answer: dict[str, Any]) -> Facts:
    """What governance needs, out of the worker's answer."""
    return Facts.model_validate({name: answer[name] for name in Facts.model_fields})
