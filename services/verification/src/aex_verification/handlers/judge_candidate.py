"""What a candidate's named verifier and its criteria make of it. Nothing is written here."""

from dataclasses import dataclass, replace

import structlog
from pydantic import ValidationError

from aex_models.contract import Candidate
from aex_models.criteria import BonusPolicy, SuccessCriteria
from aex_models.events import ContractAwarded
from aex_models.science import Science
from aex_outcomes.claim_texts import claim_texts
from aex_outcomes.engine.candidate import MOST_EARLIER
from aex_outcomes.engine.combining import under_verifier
from aex_outcomes.lifecycle.ruling import Invalid
from aex_outcomes.lifecycle.state import ContractState
from aex_outcomes.science.confined import ExaminationLost
from aex_runtime.blobs.port import BlobCorrupt, BlobMissing
from aex_runtime.store.keys import key_of
from aex_verification.deps import Deps
from aex_verification.handlers.earlier_attempts import earlier_attempts
from aex_verification.handlers.examine_candidate import Exhibit, examine_candidate
from aex_verification.handlers.materials import Materials, read_materials
from aex_verification.ports import Judgement, JudgeRequest, VerifierLost, VerifierRequest
from aex_verification.repository import ATTEMPTS
from aex_verification.rules.agent_context import agent_context
from aex_verification.rules.custom_code import needs_custom_code
from aex_verification.rules.evaluation import AREA, read_blob
from aex_verification.rules.records import AttemptRow, Facts

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Job:
    """An attempt with its materials, and the state that its contract was found in."""

    state: ContractState
    attempt: AttemptRow
    materials: Materials

    @property
    def awarded(self) -> ContractAwarded:
        """What it is made under."""
        return self.materials.awarded

    @property
    def candidate(self) -> Candidate:
        """What was delivered."""
        return self.materials.candidate

    @property
    def contract_id(self) -> str:
        """Of the contract that it is an attempt at."""
        return self.state.contract_id

    @property
    def attempt_id(self) -> str:
        """Its own."""
        return self.attempt.attempt_id

    @property
    def consumer_id(self) -> str:
        """Whose work it is: whose turn at a worker it takes."""
        return self.awarded.award.consumer.id

    @property
    def is_slow(self) -> bool:
        """Whether a verdict waits for what may take long: the consumer's code, the operator's, raw data, a reviewer."""
        work = self.awarded.work
        named = work.verification.verifier is not None
        return named or work.science is not None or needs_custom_code(work.success_criteria)


async def find_job(deps: Deps, state: ContractState, attempt_id: str) -> Job:
    """The contract's current attempt. Raises `LookupError` for records that were written and are gone."""
    attempt = await ATTEMPTS.get(deps.store, key_of(attempt_id))
    if attempt is None:
        raise LookupError(f"{state.contract_id} has no attempt {attempt_id}")
    return Job(state, attempt.record, await read_materials(deps.store, attempt.record))


async def judge_candidate(deps: Deps, job: Job) -> Judgement:
    """The named verifier's ruling, where the work names one, and the criteria's verdict under it.

    The criteria are always evaluated, whatever the verifier says; an invalid output alone is no candidate for them.
    """
    name = job.awarded.work.verification.verifier
    if name is None:
        return await _by_criteria(deps, job)
    try:
        ruling = job.attempt.rejected or await deps.verifiers.rule(_verifier_request(job, name))
    except VerifierLost as lost:
        return Judgement(None, Facts(), error=f"VerifierLost ({lost})")
    if isinstance(ruling, Invalid):
        return Judgement(None, Facts(), ruling=ruling)
    judgement = await _by_criteria(deps, job)
    if judgement.result is None:
        return replace(judgement, ruling=ruling)
    result = under_verifier(judgement.result, ruling, _bonus_policy(job.awarded.work.success_criteria))
    return replace(judgement, result=result, ruling=ruling)


async def _by_criteria(deps: Deps, job: Job) -> Judgement:
    """The engine's verdict, with the evaluation data at hand and the science examined.

    Data that are lost, and an examination that broke down, are the platform's failure.
    """
    request, named = await _judge_request(deps, job), job.awarded.evaluation
    if named is None:
        return await deps.judge.judge(request)
    try:
        secrets = read_blob(await deps.blobs.get(AREA, named.digest))
    except (BlobMissing, BlobCorrupt, ValidationError) as error:
        kind = type(error).__name__  # its text may quote the data, and so may its traceback
        about = {"contract_id": request.contract_id, "attempt_id": request.attempt_id}
        log.critical("evaluation_lost", alarm=True, kind=kind, **about)
        return Judgement(None, Facts(), error=f"EvaluationLost ({kind})")
    try:
        science = await examine_candidate(deps, _exhibit(job, secrets.science)) if secrets.science else None
    except ExaminationLost as lost:
        return Judgement(None, Facts(), error=f"ExaminationLost ({lost})")
    return await deps.judge.judge(replace(request, evaluation=secrets.evaluation, science=science))


def _exhibit(job: Job, science: Science) -> Exhibit:
    """The candidate, under its work's science with all secrets."""
    return Exhibit(
        consumer_id=job.consumer_id,
        attempt_id=job.attempt_id,
        science=science,
        domain=job.awarded.work.domain,
        output=job.candidate.output,
        claims=claim_texts(job.candidate.claimed_values, job.attempt.claim_texts),
        reasoning=job.candidate.reasoning,
        artifacts=job.candidate.artifacts,
    )


def _verifier_request(job: Job, name: str) -> VerifierRequest:
    award = job.awarded.award
    return VerifierRequest(
        name=name,
        consumer_id=job.consumer_id,
        candidate=job.candidate,
        agent=agent_context(job.awarded.work, job.state, job.attempt, job.candidate),
        contract_id=job.contract_id,
        work_id=award.work_id,
        agent_id=award.agent_id,
        attempt_id=job.attempt_id,
        deadline=job.state.deadline,
    )


async def _judge_request(deps: Deps, job: Job) -> JudgeRequest:
    """Without evaluation data."""
    work = job.awarded.work
    earlier = await earlier_attempts(deps, job.state, job.attempt, latest=MOST_EARLIER)
    return JudgeRequest(
        contract_id=job.contract_id,
        attempt_id=job.attempt_id,
        consumer_id=job.consumer_id,
        success_criteria=work.success_criteria,
        work_input=work.input,
        evaluation=None,
        output=job.candidate.output,
        execution_metadata=job.candidate.execution_metadata,
        platform_latency_ms=job.attempt.platform_latency_ms,
        reasoning=job.candidate.reasoning,
        earlier={each.output_hash: each.facts.form for each in earlier if each.facts.form is not None},
    )


def _bonus_policy(criteria: SuccessCriteria | None) -> BonusPolicy:
    return criteria.bonus_policy if criteria else BonusPolicy.ON_SUCCESS
