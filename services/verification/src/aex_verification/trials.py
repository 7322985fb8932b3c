"""The dry run of a work, in a confined worker: custom code in the sandbox, a reference alone elsewhere."""

from typing import Any

from aex_outcomes.confinement.errors import ConfinementError, JobCrashed, JobFailed, JobTimeout
from aex_outcomes.sandbox.port import SandboxUnavailable
from aex_runtime.telemetry import step
from aex_verification.judge import Runner
from aex_verification.ports import TrialBroken, TrialLost, TrialRequest, TrialUnavailable
from aex_verification.rules.checks import Findings, UnreadableFindings, read_findings
from aex_verification.rules.custom_code import custom_seconds

DRY_RUN = "aex_outcomes.sandbox.dry_run:dry_run"
CHECK_REFERENCE = "aex_outcomes.reference_check:check_reference"
_RUNS = 3
"""Of each piece of code: on an empty candidate, on the reference, and once more as the criteria are held to that."""


class ConfinedTrials:
    """Sends each work to a worker; one lane for each consumer, apart from those of candidates."""

    def __init__(
        self, pool: Runner, sandbox: Runner, config: dict[str, Any], timeout_s: float, custom_timeout_ms: int
    ) -> None:
        self._pool, self._sandbox, self._config = pool, sandbox, config
        self._timeout_s, self._custom_timeout_ms = timeout_s, custom_timeout_ms

    async def dry_run(self, request: TrialRequest) -> Findings:
        """What is wrong and what is odd. Raises `TrialUnavailable`, `TrialLost` and `TrialBroken`."""
        try:
            with step("try work"):
                answer = await self._answer(request)
            return read_findings(answer)
        except (JobTimeout, JobCrashed, UnreadableFindings) as error:
            raise TrialLost(type(error).__name__) from None
        except JobFailed as error:  # its message may quote the data
            raise TrialBroken(error.kind) from None
        except (ConfinementError, SandboxUnavailable) as error:
            raise TrialUnavailable(type(error).__name__) from None

    async def _answer(self, request: TrialRequest) -> dict[str, Any]:
        payload, lane = trial_payload(request, self._config), f"trials of {request.consumer_id}"
        runs = _RUNS * len(request.evaluation.custom_metrics)
        if runs:
            timeout_s = self._timeout_s + custom_seconds(runs, self._custom_timeout_ms)
            return await self._sandbox.run(DRY_RUN, payload, timeout_s, lane=lane)
        found = (await self._pool.run(CHECK_REFERENCE, payload, lane=lane)).get("warning")
        return {"problems": [], "warnings": [] if found is None else [found]}


def trial_payload(request: TrialRequest, config: dict[str, Any]) -> dict[str, Any]:
    """What the worker is sent, as JSON."""
    evaluation = request.evaluation.model_dump(mode="json", exclude_none=True)
    criteria = request.success_criteria
    return {
        "custom_metrics": evaluation.pop("custom_metrics", []),
        "input": dict(request.work_input),
        "evaluation": evaluation,
        "success_criteria": criteria.model_dump(mode="json") if criteria else None,
        "config": config,
    }
