"""Verification of the current attempt: grade it, count it once, and conclude a closing contract.

Runs at least once for each attempt; a later run finds the state changed and does nothing.
"""

from contextlib import ExitStack
from datetime import timedelta

import structlog

from aex_models.contract import ContractStatus
from aex_models.results import Verdict
from aex_outcomes.lifecycle.ruling import Invalid
from aex_outcomes.lifecycle.state import ContractState
from aex_runtime.store.port import key_of
from aex_runtime.unit_of_work import Unit
from aex_verification.deps import Deps
from aex_verification.handlers.conclude import conclude_attempt, conclude_contract
from aex_verification.handlers.grade_candidate import CurrentAttempt, grade_candidate, load_current_attempt
from aex_verification.handlers.record_grade import GradeRecorder
from aex_verification.handlers.save_contract import VERIFY
from aex_verification.limits import try_acquire_slow_slot
from aex_verification.measures import VERIFICATION_SECONDS
from aex_verification.ports import Grade
from aex_verification.repository import ATTEMPTS, CONTRACTS
from aex_verification.rules.records import SYSTEM_BACKOFF

_log = structlog.get_logger(__name__)


async def verify_attempt(deps: Deps, contract_id: str, attempt_id: str) -> None:
    """Verify the attempt where it is still the contract's current one, then conclude where it closes."""
    if attempt_id in deps.in_flight:
        return  # a second delivery; the first one has a timer
    with deps.in_flight.track(attempt_id):
        stored = await CONTRACTS.get(deps.store, key_of(contract_id))
        if stored is None or not _is_current(stored.record.state, attempt_id):
            return
        if stored.record.state.closing is None:
            current = await load_current_attempt(deps, stored.record.state, attempt_id)
            with ExitStack() as slot:
                if current.is_slow and not try_acquire_slow_slot(deps.slow_limiter, current.consumer_id, slot):
                    await _delay(deps, current)
                    return
                started = deps.clock.now()
                grade = await grade_candidate(deps, current)
                took_s = (deps.clock.now() - started).total_seconds()
            recorded = await _record(deps, current, grade)
            if recorded is not None:
                deps.unit_of_work.measures.observe(VERIFICATION_SECONDS, took_s)
                _log_result(recorded.state, attempt_id, grade)
            deps.notifier.wake(attempt_id)
            deps.subscribers.wake(contract_id)
            if recorded is not None and recorded.state.closes and recorded.state.current_attempt == attempt_id:
                await conclude_attempt(deps, recorded)  # all is loaded, unless its outcome rests on an earlier attempt
                return
        await conclude_contract(deps, contract_id)
        deps.notifier.wake(attempt_id)  # the outcome may rest on another attempt


async def _delay(deps: Deps, current: CurrentAttempt) -> None:
    """Set the attempt's timer; without a slot for slow grading nothing is counted."""
    contract_id, attempt_id = current.contract_id, current.attempt_id

    async def set_timer(unit: Unit) -> timedelta | None:
        stored = await unit.get(CONTRACTS, key_of(contract_id))
        if stored is None or not _is_current(stored.record.state, attempt_id) or stored.record.state.closing:
            return None
        waited = (unit.now - stored.record.state.updated_at).total_seconds()
        delay = SYSTEM_BACKOFF.delay(1 + int(waited // 5), deps.ids.jitter())
        unit.set_timer(VERIFY, attempt_id, unit.now + delay, {"contract_id": contract_id})
        return delay

    delay = await deps.unit_of_work.run(set_timer)
    if delay is not None:
        ids = {"contract_id": contract_id, "attempt_id": attempt_id}
        _log.info("verification_delayed", **ids, retry_in_s=delay.total_seconds())


async def _record(deps: Deps, current: CurrentAttempt, grade: Grade) -> CurrentAttempt | None:
    """Record the grade; return None where the contract has changed since."""

    async def record(unit: Unit) -> CurrentAttempt | None:
        stored = await unit.get(CONTRACTS, key_of(current.contract_id))
        attempt = await unit.get(ATTEMPTS, key_of(current.attempt_id))
        if stored is None or attempt is None or not _is_current(stored.record.state, current.attempt_id):
            return None
        state = stored.record.state
        if state.closing is not None:
            return None
        recorder = GradeRecorder(deps, unit, current, stored, attempt, grade)
        # A candidate that was judged is an operator's retry: its verdict outlasts a change of the output type.
        if isinstance(grade.ruling, Invalid) and attempt.record.candidate_hash not in state.verification.judged:
            return await recorder.record_invalid(grade.ruling)
        if grade.result is None or grade.result.verdict is Verdict.INDETERMINATE:
            if state.system_retries != current.state.system_retries:
                return None  # another replica made the same try, and has recorded its failure
            return await recorder.record_failure()
        return await recorder.record_verdict(grade.result)

    return await deps.unit_of_work.run(record)


def _log_result(state: ContractState, attempt_id: str, grade: Grade) -> None:
    """Log the committed result; a transaction may run more than once and cannot log it."""
    log = _log.bind(contract_id=state.contract_id, attempt_id=attempt_id)
    if state.system_retries:
        error = grade.error or "indeterminate"
        log.warning("verification_failed", error=error, retries=state.system_retries, status=state.status)
    elif isinstance(grade.ruling, Invalid):
        log.info("candidate_invalid", errors=len(grade.ruling.errors))
    else:
        log.info("candidate_judged", verdict=state.verification.last_outcome)


def _is_current(state: ContractState, attempt_id: str) -> bool:
    return state.status is ContractStatus.VERIFYING and state.current_attempt == attempt_id
