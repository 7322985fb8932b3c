"""Verification of a contract's current attempt: grade it, record the grade, conclude the contract.

It may run more than once for an attempt. A later run finds the state changed and does nothing.
"""

from contextlib import ExitStack
from datetime import timedelta
from functools import partial

import structlog

from aex_models.contract import ContractStatus
from aex_models.results import Verdict
from aex_outcomes.lifecycle.ruling import Invalid
from aex_outcomes.lifecycle.state import ContractState
from aex_runtime.store.port import key_of
from aex_runtime.unit_of_work import Unit
from aex_verification.deps import Deps
from aex_verification.handlers.conclude import end_or_hold_closing_contract, request_and_apply_governance_decision
from aex_verification.handlers.grade_candidate import CurrentAttempt, grade_candidate, load_current_attempt
from aex_verification.handlers.record_grade import GradeRecorder
from aex_verification.handlers.save_contract import VERIFY
from aex_verification.measures import VERIFICATION_SECONDS
from aex_verification.ports import Grade
from aex_verification.repository import ATTEMPTS, CONTRACTS
from aex_verification.rules.records import compute_retry_delay
from aex_verification.slow_jobs import SlowJob

_log = structlog.get_logger(__name__)


async def verify_attempt(deps: Deps, contract_id: str, attempt_id: str) -> None:
    """Grade the attempt and record the grade; conclude the contract if it closes.

    Does nothing unless the attempt is the contract's current one. A slow attempt without a free slot waits for its
    turn outside of this call.
    """
    if is_in_progress(deps, attempt_id):
        return  # a second delivery; the first one has a timer
    with deps.in_flight.track(attempt_id):
        stored = await CONTRACTS.get(deps.store, key_of(contract_id))
        if stored is None or not _is_current(stored.record.state, attempt_id):
            return
        if stored.record.state.closing is None:
            current = await load_current_attempt(deps, stored.record.state, attempt_id)
            with ExitStack() as slot:
                is_slow = current.is_slow_to_grade(deps.catalog)
                if is_slow and not deps.slow_jobs.try_acquire(current.consumer_id, slot):
                    await _wait_for_slot(deps, current)
                    return
                await _verify(deps, current, slot)
        else:
            await _conclude(deps, contract_id, attempt_id)


def is_in_progress(deps: Deps, attempt_id: str) -> bool:
    """Return whether the attempt is verified, or waits for a slot, in this process."""
    return attempt_id in deps.in_flight or attempt_id in deps.slow_jobs


async def _verify(deps: Deps, current: CurrentAttempt, slot: ExitStack) -> None:
    """Grade the attempt while holding the slot; then record the grade and conclude a closing contract."""
    contract_id, attempt_id = current.contract_id, current.attempt_id
    with slot:
        started = deps.clock.now()
        grade = await grade_candidate(deps, current)
        took_s = (deps.clock.now() - started).total_seconds()
    recorded = await _record(deps, current, grade)
    if recorded is not None:
        deps.unit_of_work.measures.observe(VERIFICATION_SECONDS, took_s)
        _log_result(recorded.state, attempt_id, grade)
    deps.notifier.wake(attempt_id)
    deps.subscribers.wake(contract_id)
    if recorded is not None and recorded.state.is_closing and recorded.state.current_attempt == attempt_id:
        await request_and_apply_governance_decision(
            deps, recorded
        )  # all is loaded, unless its outcome rests on an earlier attempt
    else:
        await _conclude(deps, contract_id, attempt_id)


async def _conclude(deps: Deps, contract_id: str, attempt_id: str) -> None:
    await end_or_hold_closing_contract(deps, contract_id)
    deps.notifier.wake(attempt_id)  # the outcome may rest on another attempt


async def _wait_for_slot(deps: Deps, current: CurrentAttempt) -> None:
    """Let the attempt wait for a slot in memory, or only by its timer if too many wait. Not a failure."""
    contract_id, attempt_id = current.contract_id, current.attempt_id
    may_wait = deps.slow_jobs.may_wait(current.consumer_id)
    delay = await _set_timer(deps, contract_id, attempt_id, deps.policy.lease if may_wait else None)
    if delay is None:
        return
    if may_wait:
        job = SlowJob(
            attempt_id,
            current.consumer_id,
            "verify slow attempt",
            partial(_verify_in_turn, deps, contract_id, attempt_id),
            partial(_resume, deps, contract_id, attempt_id),
        )
        deps.slow_jobs.start(job)
    else:
        ids = {"contract_id": contract_id, "attempt_id": attempt_id}
        _log.info("verification_delayed", **ids, retry_in_s=delay.total_seconds())


async def _verify_in_turn(deps: Deps, contract_id: str, attempt_id: str, slot: ExitStack) -> None:
    """Restart the timer of an attempt that now has a slot, and verify it unless another process did."""
    if await _set_timer(deps, contract_id, attempt_id, deps.policy.verification_lease) is None:
        return
    with deps.in_flight.track(attempt_id):
        stored = await CONTRACTS.get(deps.store, key_of(contract_id))
        if stored is not None:
            await _verify(deps, await load_current_attempt(deps, stored.record.state, attempt_id), slot)


async def _resume(deps: Deps, contract_id: str, attempt_id: str) -> None:
    await _set_timer(deps, contract_id, attempt_id, timedelta())


async def _set_timer(deps: Deps, contract_id: str, attempt_id: str, delay: timedelta | None) -> timedelta | None:
    """Set the timer of an attempt and return the delay; return None if the attempt is not current.

    If `delay` is None, the delay grows with the time that the attempt has waited.
    """

    async def set_timer(unit: Unit) -> timedelta | None:
        stored = await unit.get(CONTRACTS, key_of(contract_id))
        if stored is None or not _is_current(stored.record.state, attempt_id) or stored.record.state.closing:
            return None
        waited = unit.now - stored.record.state.updated_at
        backoff = compute_retry_delay(waited, deps.ids.jitter()) if delay is None else delay
        unit.set_timer(VERIFY, attempt_id, unit.now + backoff, {"contract_id": contract_id})
        return backoff

    return await deps.unit_of_work.run(set_timer)


async def _record(deps: Deps, current: CurrentAttempt, grade: Grade) -> CurrentAttempt | None:
    """Record the grade; return None, and write nothing, if the contract has changed meanwhile."""

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
            return await recorder.record_invalid_output(grade.ruling)
        if grade.result is None or grade.result.verdict is Verdict.INDETERMINATE:
            if state.system_retries != current.state.system_retries:
                return None  # another replica made the same try, and has recorded its failure
            return await recorder.record_failure_and_retry_or_hold()
        return await recorder.record_verdict(grade.result)

    return await deps.unit_of_work.run(record)


def _log_result(state: ContractState, attempt_id: str, grade: Grade) -> None:
    """Log the committed result. A transaction cannot log it, because it may run more than once."""
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
