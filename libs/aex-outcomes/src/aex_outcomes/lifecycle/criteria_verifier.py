"""Verifier by success criteria and science gate, with the interface of a custom verifier."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from aex_models.contract import Candidate
from aex_models.criteria import SuccessCriteria
from aex_models.evaluation import Evaluation
from aex_models.results import Verdict, VerificationResult
from aex_models.science import Science
from aex_models.work import Problem
from aex_outcomes.engine.verification import VerificationEngine
from aex_outcomes.feedback import derive_rejection_code, summarize_rejection
from aex_outcomes.lifecycle.context import ExecutionContext
from aex_outcomes.lifecycle.output_type import InvalidOutput
from aex_outcomes.lifecycle.outputs import candidate_hash
from aex_outcomes.lifecycle.rejection import VerificationRejected

if TYPE_CHECKING:
    from aex_outcomes.science.source_files import Content


class CriteriaNotMet(VerificationRejected):
    """Rejection by the criteria or the science gate; `result` is the engine's result."""

    def __init__(self, result: VerificationResult, criteria: SuccessCriteria | None = None) -> None:
        super().__init__(summarize_rejection(result, None), derive_rejection_code(result, criteria))
        self.result = result


class VerdictIndeterminate(RuntimeError):
    """Error of a verification whose verdict is indeterminate, by the platform's fault.

    `result` is the engine's result.
    """

    def __init__(self, result: VerificationResult) -> None:
        errors = [f"{each.metric}: {each.error.code}" for each in result.criterion_results if each.error]
        unknown = [each.code for each in result.science.reasons] if result.science else []
        subject = "criteria" if errors or not unknown else "claims"
        super().__init__(f"The {subject} could not be verified: {', '.join([*errors, *unknown]) or 'no reason given'}")
        self.result = result


class CriteriaVerifier:
    """Verifier that accepts outputs which meet the success criteria and pass the science gate."""

    def __init__(
        self,
        success_criteria: SuccessCriteria | Mapping[str, Any] | None,
        *,
        work_input: Mapping[str, Any] | None = None,
        evaluation: Evaluation | Mapping[str, Any] | None = None,
        engine: VerificationEngine | None = None,
        science: Science | Mapping[str, Any] | None = None,
        domain: str | None = None,
        data: "Mapping[str, Content] | None" = None,
    ) -> None:
        """Keep the work's parts; `science`, `domain` and `data` are those of `VerificationEngine.verify`.

        Raises `ValueError` for criteria, evaluation data, science or data that the engine cannot use.
        """
        self._engine = engine or VerificationEngine()
        self._criteria = None if success_criteria is None else SuccessCriteria.model_validate(success_criteria)
        self._evaluation = None if evaluation is None else Evaluation.model_validate(evaluation)
        self._work_input = dict(work_input or {})
        self._science = None if science is None else Science.model_validate(science)
        self._domain, self._data = domain, dict(data or {})
        self._engine.catalog.require_supported(self._criteria.criteria if self._criteria else ())
        if self._science is not None:
            self._engine.require_declared_data(self._science, self._data)

    async def __call__(self, output: Any, candidate: Candidate, execution_ctx: ExecutionContext | None) -> Any:
        """Verify the candidate and return its output if it passes.

        Raises `CriteriaNotMet` for a rejected candidate, and `VerdictIndeterminate` if its verdict is indeterminate.
        Raises `InvalidOutput` for artifacts that name digests of uploads, which only a service can look up.
        """
        uploads = [position for position, each in enumerate(candidate.artifacts) if each.sha256 is not None]
        if self._science is not None and uploads:
            message = "the digest of an upload, which only a service can look up; give content or content_base64"
            paths = [f"/artifacts/{position}/sha256" for position in uploads]
            raise InvalidOutput(tuple(Problem(path=path, code="unknown_artifact", message=message) for path in paths))
        result = await self._engine.verify(
            contract_id=execution_ctx.contract_id if execution_ctx else "loop",
            work_input=self._work_input,
            work_output=candidate.output,
            success_criteria=self._criteria,
            execution_metadata=candidate.execution_metadata,
            evaluation=self._evaluation,
            candidate_hash=candidate_hash(candidate),
            science=self._science,
            domain=self._domain,
            claimed_values=candidate.claimed_values,
            reasoning=candidate.reasoning,
            artifacts=candidate.artifacts,
            data=self._data,
        )
        if result.verdict is Verdict.INDETERMINATE:
            raise VerdictIndeterminate(result)
        if result.verdict is Verdict.REJECTED:
            raise CriteriaNotMet(result, self._criteria)
        return output
