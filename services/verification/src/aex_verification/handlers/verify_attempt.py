"""The worker's job: judge the current candidate, count it once, and hand a closing contract to governance.

Runs at least once for each attempt. Whoever comes second finds the state moved on and does nothing.
"""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import timedelta

import structlog
from pydantic import ValidationError

from aex_models.contract import ContractStatus
from aex_models.events import ContractAwarded
from aex_models.results import Verdict
from aex_outcomes.lifecycle.state import ContractState
from aex_runtime.blobs.port import BlobCorrupt, BlobMissing
from aex_runtime.store.keys import key_of
from aex_runtime.unit_of_work import Unit
from aex_verification.deps import Deps
from aex_verification.handlers.conclude import conclude_contract
from aex_verification.handlers.custom_place import has_place
from aex_verification.handlers.record_judgement import record_failure, record_verdict
from aex_verification.handlers.timers import VERIFY
from aex_verification.ports import Judgement, JudgeRequest
from aex_verification.repository import ATTEMPTS, AWARDS, CANDIDATES, CONTRACTS
from aex_verification.rules.custom_code import needs_custom_code
from aex_verification.rules.evaluation import AREA, read_evaluation
from aex_verification.rules.policy import SYSTEM_BACKOFF
from aex_verification.rules.records import Facts

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Job:
    """An attempt as it is verified, with the award that it is made under."""

    request: JudgeRequest
    awarded: ContractAwarded


async def verify_attempt(deps: Deps, contract_id: str, attempt_id: str) -> None:
    """Verify the attempt where it is still the contract's current one, then conclude where it closes."""
    if attempt_id in deps.under_way:
        return  # a second delivery; whoever is at it has the timer behind it
    with deps.under_way.hold(attempt_id):
        stored = await CONTRACTS.get(deps.store, key_of(contract_id))
        if stored is None or not _is_current(stored.record.state, attempt_id):
            return
        if stored.record.state.closing is None:
            job = await _job(deps, contract_id, attempt_id)
            with ExitStack() as place:
                custom = needs_custom_code(job.request.success_criteria)
                if custom and not has_place(deps, job.request.consumer_id, place):
                    await _put_off(deps, job)
                    return
                judgement = await _judgement(deps, job)
            state = await _record(deps, job, judgement, stored.record.state.system_retries)
            if state is not None:
                _tell(state, attempt_id, judgement)
            deps.waits.wake(attempt_id)
        await conclude_contract(deps, contract_id)


async def _job(deps: Deps, contract_id: str, attempt_id: str) -> _Job:
    awarded = await AWARDS.get(deps.store, key_of(contract_id))
    attempt = await ATTEMPTS.get(deps.store, key_of(attempt_id))
    if awarded is None or attempt is None:
        raise LookupError(f"{contract_id} has no award or no attempt {attempt_id}")
    candidate = await CANDIDATES.get(deps.store, attempt.record.candidate_key)
    if candidate is None:
        raise LookupError(f"{attempt_id} has no candidate")
    request = JudgeRequest(
        contract_id=contract_id,
        attempt_id=attempt_id,
        consumer_id=awarded.record.award.consumer.id,
        success_criteria=awarded.record.work.success_criteria,
        work_input=awarded.record.work.input,
        evaluation=None,
        output=candidate.record.output,
        execution_metadata=candidate.record.execution_metadata,
        platform_latency_ms=attempt.record.platform_latency_ms,
    )
    return _Job(request, awarded.record)


async def _put_off(deps: Deps, job: _Job) -> None:
    """Too many wait for custom code here: the attempt comes again by its timer, and nothing is counted."""
    contract_id, attempt_id = job.request.contract_id, job.request.attempt_id

    async def put_off(unit: Unit) -> timedelta | None:
        stored = await unit.get(CONTRACTS, key_of(contract_id))
        if stored is None or not _is_current(stored.record.state, attempt_id) or stored.record.state.closing:
            return None
        waited = (unit.now - stored.record.state.updated_at).total_seconds()
        delay = SYSTEM_BACKOFF.delay(1 + int(waited // 5), deps.ids.jitter())
        unit.set_timer(VERIFY, attempt_id, unit.now + delay, {"contract_id": contract_id})
        return delay

    delay = await deps.unit_of_work.run(put_off)
    if delay is not None:
        log.info("custom_code_waits", contract_id=contract_id, attempt_id=attempt_id, retry_in_s=delay.total_seconds())


async def _judgement(deps: Deps, job: _Job) -> Judgement:
    """The verdict, with the evaluation data at hand. Data that are lost are the platform's failure, not a wait."""
    request, named = job.request, job.awarded.evaluation
    if named is None:
        return await deps.judge.judge(request)
    try:
        evaluation = read_evaluation(await deps.blobs.get(AREA, named.digest))
    except (BlobMissing, BlobCorrupt, ValidationError) as error:
        kind = type(error).__name__  # its text may quote the data, and so may its traceback
        log.critical("evaluation_lost", contract_id=request.contract_id, attempt_id=request.attempt_id, kind=kind)
        return Judgement(None, Facts(), error=f"EvaluationLost ({kind})")
    return await deps.judge.judge(replace(request, evaluation=evaluation))


async def _record(deps: Deps, job: _Job, judgement: Judgement, failures_before: int) -> ContractState | None:
    """Write the verdict, or the platform's own failure; the state that came of it, None where it had moved on."""
    request = job.request

    async def record(unit: Unit) -> ContractState | None:
        stored = await unit.get(CONTRACTS, key_of(request.contract_id))
        attempt = await unit.get(ATTEMPTS, key_of(request.attempt_id))
        if stored is None or attempt is None or not _is_current(stored.record.state, request.attempt_id):
            return None
        if stored.record.state.closing is not None:
            return None
        if judgement.result is None or judgement.result.verdict is Verdict.INDETERMINATE:
            if stored.record.state.system_retries != failures_before:
                return None  # another replica was at the same try, and has recorded its failure
            return record_failure(deps, unit, stored, attempt, judgement)
        return record_verdict(deps, unit, job.awarded, stored, attempt, judgement.result, judgement)

    return await deps.unit_of_work.run(record)


def _tell(state: ContractState, attempt_id: str, judgement: Judgement) -> None:
    """Log what was committed: here, because a transaction may run more than once."""
    told = log.bind(contract_id=state.contract_id, attempt_id=attempt_id)
    if judgement.result is not None and judgement.result.verdict is not Verdict.INDETERMINATE:
        told.info("candidate_judged", verdict=judgement.result.verdict)
    else:
        error = judgement.error or "indeterminate"
        told.warning("verification_failed", error=error, retries=state.system_retries, status=state.status)


def _is_current(state: ContractState, attempt_id: str) -> bool:
    return state.status is ContractStatus.VERIFYING and state.current_attempt == attempt_id
