"""Grading of a candidate by its named verifier and its criteria. Nothing is stored here."""

from dataclasses import dataclass, replace

import structlog
from pydantic import ValidationError

from aex_models.contract import Candidate
from aex_models.criteria import BonusPolicy
from aex_models.events import ContractAwarded
from aex_models.science import Science
from aex_models.work import EvaluationBlob
from aex_outcomes.catalog import Catalog
from aex_outcomes.engine.candidate import MAX_EARLIER
from aex_outcomes.engine.final_result import combine_with_ruling
from aex_outcomes.engine.slow_metrics import has_slow_metric
from aex_outcomes.json_values import format_claim_texts
from aex_outcomes.lifecycle.ruling import Invalid
from aex_outcomes.lifecycle.state import ContractState
from aex_outcomes.science.confined import ExaminationLost
from aex_runtime.blobs.port import BlobCorrupt, BlobMissing
from aex_runtime.store.port import key_of
from aex_runtime.store.table import Reader
from aex_verification.deps import Deps
from aex_verification.handlers.examine_candidate import ExaminationInput, examine_candidate
from aex_verification.ports import Grade, GradeRequest, VerifierLost, VerifierRequest
from aex_verification.repository import ATTEMPTS, AWARDS, CANDIDATES
from aex_verification.rules.candidates import make_agent_context
from aex_verification.rules.checks import EVALUATION_AREA
from aex_verification.rules.records import AttemptRow

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class AttemptInputs:
    """Award and candidate of an attempt, which never change."""

    awarded: ContractAwarded
    candidate: Candidate


@dataclass(frozen=True, slots=True)
class CurrentAttempt(AttemptInputs):
    """Attempt with its inputs, and the state of its contract as read or last recorded."""

    state: ContractState
    row: AttemptRow

    @property
    def contract_id(self) -> str:
        return self.state.contract_id

    @property
    def attempt_id(self) -> str:
        return self.row.attempt_id

    @property
    def consumer_id(self) -> str:
        return self.awarded.award.consumer.id

    def is_slow_to_grade(self, catalog: Catalog) -> bool:
        """Return whether grading needs a slow metric, a named verifier, raw data or a reviewer."""
        work = self.awarded.work
        has_verifier = work.verification.verifier is not None
        return has_verifier or work.science is not None or has_slow_metric(work.success_criteria, catalog)


async def load_current_attempt(deps: Deps, state: ContractState, attempt_id: str) -> CurrentAttempt:
    """Load an attempt of the contract with its inputs. Raises `LookupError` if a record is missing."""
    attempt = await ATTEMPTS.get(deps.store, key_of(attempt_id))
    if attempt is None:
        raise LookupError(f"{state.contract_id} has no attempt {attempt_id}")
    inputs = await load_attempt_inputs(deps.store, attempt.record)
    return CurrentAttempt(inputs.awarded, inputs.candidate, state, attempt.record)


async def load_attempt_inputs(reader: Reader, attempt: AttemptRow) -> AttemptInputs:
    """Load award and candidate of the attempt. Raises `LookupError` if a record is missing."""
    awarded = await AWARDS.get(reader, key_of(attempt.contract_id))
    candidate = await CANDIDATES.get(reader, attempt.candidate_key)
    if awarded is None or candidate is None:
        raise LookupError(f"{attempt.attempt_id} has no award or no candidate")
    return AttemptInputs(awarded.record, candidate.record)


async def load_earlier_judged_attempts(
    deps: Deps, state: ContractState, attempt: AttemptRow, limit: int | None = None
) -> list[AttemptRow]:
    """Return the attempts that were judged before this candidate, oldest first; only the last `limit`.

    Repeated calls return the same attempts, also when an operator retries the candidate: it keeps its ordinal.
    """
    judged = state.verification.judged
    own = judged.get(attempt.candidate_hash)
    before = [
        each
        for candidate_hash, each in judged.items()
        if candidate_hash != attempt.candidate_hash and (own is None or each.ordinal < own.ordinal)
    ]
    ordered = sorted(before, key=lambda each: each.ordinal)[-limit if limit else 0 :]
    if not ordered:
        return []
    found = await ATTEMPTS.get_many(deps.store, [key_of(each.attempt_id) for each in ordered])
    return [each for each in found if each is not None]


async def grade_candidate(deps: Deps, current: CurrentAttempt) -> Grade:
    """Return the grade of the current attempt: the verdict by criteria, under the named verifier's ruling.

    A rejected candidate is still graded by its criteria; an invalid output is not. A failure of the platform is a
    grade without result.
    """
    name = current.awarded.work.verification.verifier
    if name is None:
        return await _grade_by_criteria(deps, current)
    try:
        ruling = current.row.rejected or await deps.verifiers.rule(_make_verifier_request(current, name))
    except VerifierLost as lost:
        return Grade(None, error=f"VerifierLost ({lost})")
    if isinstance(ruling, Invalid):
        return Grade(None, ruling=ruling)
    grade = await _grade_by_criteria(deps, current)
    if grade.result is None:
        return replace(grade, ruling=ruling)
    criteria = current.awarded.work.success_criteria
    bonus_policy = criteria.bonus_policy if criteria else BonusPolicy.ON_SUCCESS
    return replace(grade, result=combine_with_ruling(grade.result, ruling, bonus_policy), ruling=ruling)


async def _grade_by_criteria(deps: Deps, current: CurrentAttempt) -> Grade:
    """Return the verdict by criteria, with evaluation data and science.

    Lost evaluation data or a failed examination give a grade without result.
    """
    request, evaluation = await _make_grade_request(deps, current), current.awarded.evaluation
    if evaluation is None:
        return await deps.grader.grade(request)
    try:
        content = await deps.blobs.get(EVALUATION_AREA, evaluation.digest)
        secrets = EvaluationBlob.model_validate_json(content)
    except (BlobMissing, BlobCorrupt, ValidationError) as error:
        kind = type(error).__name__  # its text may quote the data, and so may its traceback
        ids = {"contract_id": request.contract_id, "attempt_id": request.attempt_id}
        _log.critical("evaluation_lost", alarm=True, kind=kind, **ids)
        return Grade(None, error=f"EvaluationLost ({kind})")
    try:
        science = None
        if secrets.science is not None:
            science = await examine_candidate(deps, _make_examination_input(current, secrets.science))
    except ExaminationLost as lost:
        return Grade(None, error=f"ExaminationLost ({lost})")
    return await deps.grader.grade(replace(request, evaluation=secrets.evaluation, science=science))


def _make_examination_input(current: CurrentAttempt, science: Science) -> ExaminationInput:
    candidate = current.candidate
    return ExaminationInput(
        consumer_id=current.consumer_id,
        attempt_id=current.attempt_id,
        science=science,
        domain=current.awarded.work.domain,
        output=candidate.output,
        claims=format_claim_texts(candidate.claimed_values, current.row.claim_texts),
        reasoning=candidate.reasoning,
        artifacts=candidate.artifacts,
    )


def _make_verifier_request(current: CurrentAttempt, name: str) -> VerifierRequest:
    award = current.awarded.award
    return VerifierRequest(
        name=name,
        consumer_id=current.consumer_id,
        candidate=current.candidate,
        agent=make_agent_context(current.awarded.work, current.state, current.row, current.candidate),
        contract_id=current.contract_id,
        work_id=award.work_id,
        agent_id=award.agent_id,
        attempt_id=current.attempt_id,
        deadline=current.state.deadline,
    )


async def _make_grade_request(deps: Deps, current: CurrentAttempt) -> GradeRequest:
    work, candidate = current.awarded.work, current.candidate
    earlier = await load_earlier_judged_attempts(deps, current.state, current.row, limit=MAX_EARLIER)
    return GradeRequest(
        contract_id=current.contract_id,
        attempt_id=current.attempt_id,
        consumer_id=current.consumer_id,
        success_criteria=work.success_criteria,
        work_input=work.input,
        evaluation=None,
        output=candidate.output,
        execution_metadata=candidate.execution_metadata,
        platform_latency_ms=current.row.platform_latency_ms,
        reasoning=candidate.reasoning,
        earlier={
            each.output_hash: each.facts.comparison_text for each in earlier if each.facts.comparison_text is not None
        },
    )
