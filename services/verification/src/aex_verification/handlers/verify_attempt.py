"""The worker's job: judge the current candidate, count it once, and hand a closing contract to governance.

Runs at least once for each attempt. Whoever comes second finds the state moved on and does nothing.
"""

from contextlib import ExitStack
from datetime import timedelta

import structlog

from aex_models.contract import ContractStatus
from aex_models.results import Verdict
from aex_outcomes.lifecycle.ruling import Invalid
from aex_outcomes.lifecycle.state import ContractState
from aex_runtime.store.keys import key_of
from aex_runtime.unit_of_work import Unit
from aex_verification.deps import Deps
from aex_verification.handlers.conclude import conclude_contract, conclude_on
from aex_verification.handlers.judge_candidate import Job, find_job, judge_candidate
from aex_verification.handlers.record_judgement import Recorded, record_failure, record_invalid, record_verdict
from aex_verification.handlers.slow_place import has_place
from aex_verification.handlers.timers import VERIFY
from aex_verification.measures import VERIFICATION_SECONDS
from aex_verification.ports import Judgement
from aex_verification.repository import ATTEMPTS, CONTRACTS
from aex_verification.rules.policy import SYSTEM_BACKOFF
from aex_verification.rules.records import AttemptRow

log = structlog.get_logger()


async def verify_attempt(deps: Deps, contract_id: str, attempt_id: str) -> None:
    """Verify the attempt where it is still the contract's current one, then conclude where it closes."""
    if attempt_id in deps.under_way:
        return  # a second delivery; whoever is at it has the timer behind it
    with deps.under_way.hold(attempt_id):
        stored = await CONTRACTS.get(deps.store, key_of(contract_id))
        if stored is None or not _is_current(stored.record.state, attempt_id):
            return
        if stored.record.state.closing is None:
            job = await find_job(deps, stored.record.state, attempt_id)
            with ExitStack() as place:
                if job.is_slow and not has_place(deps, job.consumer_id, place):
                    await _put_off(deps, job)
                    return
                began = deps.clock.now()
                judgement = await judge_candidate(deps, job)
                took_s = (deps.clock.now() - began).total_seconds()
            recorded = await _record(deps, job, judgement)
            if recorded is not None:
                deps.unit_of_work.measures.observe(VERIFICATION_SECONDS, took_s)
                _tell(recorded.state, attempt_id, judgement)
            deps.waits.wake(attempt_id)
            deps.followers.wake(contract_id)
            if recorded is not None and _closes_on(recorded):
                # All that is needed is at hand: nothing of it is read again.
                await conclude_on(deps, Job(recorded.state, recorded.attempt, job.materials))
                return
        await conclude_contract(deps, contract_id)
        deps.waits.wake(attempt_id)  # the outcome may rest on another one


async def _put_off(deps: Deps, job: Job) -> None:
    """Too many wait for slow code here: the attempt comes again by its timer, and nothing is counted."""
    contract_id, attempt_id = job.contract_id, job.attempt_id

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
        log.info(
            "verification_put_off", contract_id=contract_id, attempt_id=attempt_id, retry_in_s=delay.total_seconds()
        )


async def _record(deps: Deps, job: Job, judgement: Judgement) -> Recorded | None:
    """Write what came of it; None where the contract had moved on meanwhile."""

    async def record(unit: Unit) -> Recorded | None:
        stored = await unit.get(CONTRACTS, key_of(job.contract_id))
        attempt = await unit.get(ATTEMPTS, key_of(job.attempt_id))
        if stored is None or attempt is None or not _is_current(stored.record.state, job.attempt_id):
            return None
        if stored.record.state.closing is not None:
            return None
        if isinstance(judgement.ruling, Invalid) and not _was_judged(stored.record.state, attempt.record):
            return await record_invalid(deps, unit, job.awarded, stored, attempt, judgement.ruling)
        if judgement.result is None or judgement.result.verdict is Verdict.INDETERMINATE:
            if stored.record.state.system_retries != job.state.system_retries:
                return None  # another replica was at the same try, and has recorded its failure
            return await record_failure(deps, unit, job.awarded, stored, attempt, judgement)
        return await record_verdict(deps, unit, job.awarded, stored, attempt, judgement.result, judgement)

    return await deps.unit_of_work.run(record)


def _tell(state: ContractState, attempt_id: str, judgement: Judgement) -> None:
    """Log what was committed: here, because a transaction may run more than once."""
    told = log.bind(contract_id=state.contract_id, attempt_id=attempt_id)
    if state.system_retries:
        error = judgement.error or "indeterminate"
        told.warning("verification_failed", error=error, retries=state.system_retries, status=state.status)
    elif isinstance(judgement.ruling, Invalid):
        told.info("candidate_invalid", errors=len(judgement.ruling.errors))
    else:
        told.info("candidate_judged", verdict=state.verification.last_outcome)


def _was_judged(state: ContractState, attempt: AttemptRow) -> bool:
    """Whether an operator has it verified anew: no change of an output type takes back a verdict that stands."""
    return attempt.candidate_hash in state.verification.judged


def _closes_on(recorded: Recorded) -> bool:
    """Whether the contract closes on the very attempt: its outcome may rest on an earlier one."""
    return recorded.state.closes and recorded.state.current_attempt == recorded.attempt.attempt_id


def _is_current(state: ContractState, attempt_id: str) -> bool:
    return state.status is ContractStatus.VERIFYING and state.current_attempt == attempt_id
