"""Grading of many outputs without services, in confined workers that stay alive between outputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from aex_models.contract import ExecutionMetadata
from aex_models.criteria import SuccessCriteria
from aex_models.evaluation import Evaluation
from aex_models.results import VerificationResult
from aex_outcomes.catalog import Catalog
from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.confinement.settings import ConfinementError, JobFailed, JobTimeout
from aex_outcomes.engine.slow_metrics import compute_max_slow_seconds, has_slow_metric
from aex_outcomes.lifecycle.outputs import candidate_hash
from aex_outcomes.submission.verify_request import Trial

JOB = "aex_outcomes.engine.job:verify_candidates"
TIMEOUT_S = 30.0
"""Time limit in seconds of a job, without slow metrics."""
_MEMORY_MB = 1_024
_MAX_RESULT_BYTES = 16 * 1024 * 1024
_WARM = ("rapidfuzz.distance", "re2", "jsonschema_rs")


@dataclass(frozen=True, slots=True)
class LostVerdict:
    """The reason why an output has no verdict: its worker failed."""

    reason: str


class LocalGrader:
    """Grader of outputs by the same criteria, in `size` confined workers.

    Use it in an `async with` block, which starts and ends the workers.
    """

    def __init__(self, criteria: SuccessCriteria | None, catalog: Catalog, size: int = 1) -> None:
        self._catalog, self._is_slow = catalog, has_slow_metric(criteria, catalog)
        self._pool = WorkerPool(
            size,
            TIMEOUT_S,
            _MEMORY_MB,
            jobs=[JOB],
            warm=_WARM,
            spares=0,
            max_result_bytes=_MAX_RESULT_BYTES,
            children=self._is_slow,
        )

    async def __aenter__(self) -> Self:
        """Start the workers. Raises `WorkersUnavailable` if one cannot start."""
        await self._pool.start()
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self._pool.close()

    @property
    def missing_confinement(self) -> tuple[str, ...]:
        """Return the names of the confinement steps that this system lacks."""
        return self._pool.missing_confinement

    async def grade(self, trials: Sequence[Trial]) -> list[VerificationResult | LostVerdict]:
        """Return the engine's verdict on the output of each trial; all share criteria, input and latency.

        Governance and science are skipped. An output that fails its worker has a `LostVerdict`, and fails no other.
        """
        if len(trials) > 1 and not self._is_slow:
            together = await self._run(trials, TIMEOUT_S)
            if not isinstance(together, LostVerdict):
                return list(together)
        return [await self._grade_alone(each) for each in trials]

    async def _grade_alone(self, trial: Trial) -> VerificationResult | LostVerdict:
        task_input = {**trial.input, **(dump_evaluation(trial.evaluation) or {})}
        slow_s = compute_max_slow_seconds(trial.success_criteria, task_input, self._catalog) if self._is_slow else 0.0
        found = await self._run([trial], TIMEOUT_S + slow_s)
        return found if isinstance(found, LostVerdict) else found[0]

    async def _run(self, trials: Sequence[Trial], timeout_s: float) -> Sequence[VerificationResult] | LostVerdict:
        payload = make_payload(trials, self._catalog)
        try:
            answer = await self._pool.run(JOB, payload, timeout_s)
        except JobTimeout:
            return LostVerdict(f"the engine did not end within {timeout_s:g} s")
        except JobFailed as error:
            return LostVerdict(f"the engine failed: {error}")
        except ConfinementError as error:
            return LostVerdict(f"the worker of the engine failed: {type(error).__name__}: {error}")
        return parse_results(answer)


def make_payload(trials: Sequence[Trial], catalog: Catalog) -> dict[str, Any]:
    """Return the JSON input of the job `verify_candidates`; shared keys are those of the first trial."""
    first = trials[0]
    criteria = first.success_criteria
    return {
        "contract_id": "none",
        "success_criteria": criteria.model_dump(mode="json") if criteria else None,
        "work_input": first.input,
        "evaluation": dump_evaluation(first.evaluation),
        "platform_latency_ms": first.platform_latency_ms,
        "config": catalog.config.as_json(),
        "candidates": [_make_own_payload(each, first) for each in trials],
    }


def _make_own_payload(trial: Trial, first: Trial) -> dict[str, Any]:
    payload: dict[str, Any] = {
        "output": trial.output,
        "execution_metadata": _dump_metadata(trial.execution_metadata),
        "candidate_hash": candidate_hash(trial),
    }
    if trial.evaluation is not first.evaluation:
        payload["evaluation"] = dump_evaluation(trial.evaluation)
    return payload


def _dump_metadata(metadata: ExecutionMetadata) -> dict[str, Any]:
    return metadata.model_dump(mode="json", exclude_none=True)


def dump_evaluation(evaluation: Evaluation | None) -> dict[str, Any] | None:
    """Return evaluation data as JSON values without absent keys."""
    return evaluation.model_dump(mode="json", exclude_none=True) if evaluation else None


def parse_results(answer: dict[str, Any]) -> list[VerificationResult]:
    """Return the verdicts in the answer of the job `verify_candidates`."""
    return [VerificationResult.model_validate(each) for each in answer["results"]]
