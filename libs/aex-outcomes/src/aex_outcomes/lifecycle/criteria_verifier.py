"""The default verifier: success criteria, under the same contract as anybody's function."""

from collections.abc import Mapping
from typing import Any

from aex_models.contract import Candidate
from aex_models.criteria import SuccessCriteria
from aex_models.results import Verdict, VerificationResult
from aex_models.work import Evaluation
from aex_outcomes.engine.verification import VerificationEngine
from aex_outcomes.feedback import CRITERIA_NOT_MET, summary_of
from aex_outcomes.lifecycle.context import ExecutionContext
from aex_outcomes.lifecycle.hashing import candidate_hash
from aex_outcomes.lifecycle.rejection import VerificationRejected


class CriteriaNotMet(VerificationRejected):
    """The criteria reject the candidate; `result` says which."""

    def __init__(self, result: VerificationResult) -> None:
        super().__init__(summary_of(result, None), CRITERIA_NOT_MET)
        self.result = result


class VerdictIndeterminate(RuntimeError):
    """The engine could not tell, which is nobody's failure but the platform's: a system error."""

    def __init__(self, result: VerificationResult) -> None:
        errors = [f"{each.metric}: {each.error.code}" for each in result.criterion_results if each.error]
        super().__init__(f"The criteria could not be judged: {', '.join(errors) or 'no reason given'}")
        self.result = result


class CriteriaVerifier:
    """Passes the outputs that meet success criteria, and returns them as they were given."""

    def __init__(
        self,
        success_criteria: SuccessCriteria | Mapping[str, Any] | None,
        *,
        work_input: Mapping[str, Any] | None = None,
        evaluation: Evaluation | Mapping[str, Any] | None = None,
        engine: VerificationEngine | None = None,
    ) -> None:
        """Raises `ValueError` for criteria, or evaluation data, that the engine could not judge by."""
        self._engine = engine or VerificationEngine()
        self._criteria = None if success_criteria is None else SuccessCriteria.model_validate(success_criteria)
        self._evaluation = None if evaluation is None else Evaluation.model_validate(evaluation)
        self._work_input = dict(work_input or {})
        self._engine.catalog.check(self._criteria.criteria if self._criteria else ())

    async def __call__(self, output: Any, candidate: Candidate, execution_ctx: ExecutionContext | None) -> Any:
        """The output. Raises `CriteriaNotMet`, and `VerdictIndeterminate` where the engine could not tell."""
        result = await self._engine.verify(
            contract_id=execution_ctx.contract_id if execution_ctx else "loop",
            work_input=self._work_input,
            work_output=candidate.output,
            success_criteria=self._criteria,
            execution_metadata=candidate.execution_metadata,
            evaluation=self._evaluation,
            candidate_hash=candidate_hash(candidate),
        )
        if result.verdict is Verdict.INDETERMINATE:
            raise VerdictIndeterminate(result)
        if result.verdict is Verdict.REJECTED:
            raise CriteriaNotMet(result)
        return output
