"""Conclusion of a contract: governance decides, then the outcome is written or the contract is held."""

from typing import Any

import structlog

from aex_models.contract import AttemptStatus, Candidate, ContractStatus
from aex_models.events import ContractAwarded, OutcomeHeld, OutcomeVerified, SettlementAdjusted
from aex_models.governance import Action, DecidedBy, GovernanceResult, HoldCause, ValidationDecision
from aex_models.results import VerificationResult
from aex_outcomes.engine.final_result import apply_governance, governance_result
from aex_outcomes.lifecycle.state import ContractState
from aex_outcomes.lifecycle.transitions import end_contract, hold_for_operator
from aex_runtime.store.port import key_of
from aex_runtime.store.table import Stored
from aex_runtime.unit_of_work import Unit
from aex_verification.deps import Deps
from aex_verification.handlers.grade_candidate import (
    AttemptInputs,
    CurrentAttempt,
    load_current_attempt,
    load_earlier_judged_attempts,
)
from aex_verification.handlers.save_contract import CONCLUDE, DEADLINE, save_contract_with_events
from aex_verification.measures import ATTEMPTS_TOTAL, CONTRACTS_ENDED_TOTAL
from aex_verification.ports import GovernanceRefused, GovernanceUnavailable
from aex_verification.repository import ATTEMPTS, CONTRACTS, FINAL_RESULTS, OUTCOMES
from aex_verification.rules.governance import make_validation_request
from aex_verification.rules.outcomes import is_paid_or_successful, make_outcome_record, strip_result_and_metadata
from aex_verification.rules.records import SYSTEM_BACKOFF, AttemptRow, ContractRow, Policy, compute_retry_delay

_NO_DECISION = GovernanceResult(action=Action.HOLD, decided_by=DecidedBy.NOBODY)
_log = structlog.get_logger(__name__)


async def end_or_hold_closing_contract(deps: Deps, contract_id: str) -> None:
    """Conclude a contract in a closing state: let governance decide, then end or hold it.

    Does nothing for a contract in any other state.
    """
    stored = await CONTRACTS.get(deps.store, key_of(contract_id))
    if stored is None or not stored.record.state.is_closing:
        return
    attempt_id = stored.record.state.current_attempt
    if attempt_id is None:
        raise LookupError(f"{contract_id} closes without an attempt")
    await request_and_apply_governance_decision(deps, await load_current_attempt(deps, stored.record.state, attempt_id))


async def request_and_apply_governance_decision(deps: Deps, current: CurrentAttempt) -> None:
    """Let governance decide on the attempt on which the outcome rests, and apply the decision.

    The contract ends or is held, unless it has changed since `current` was recorded. If governance fails, a retry is
    scheduled. A request that governance refuses repeatedly ends in a hold.
    """
    contract_id, attempt_id = current.contract_id, current.attempt_id
    try:
        decision = await _decide(deps, current)
    except GovernanceUnavailable as error:
        _log.warning("governance_unreachable", contract_id=contract_id, error=str(error))
        await _retry_or_hold(deps, current, refused=False)
    except GovernanceRefused as error:
        _log.warning("governance_refused", contract_id=contract_id, attempt_id=attempt_id, error=str(error))
        await _retry_or_hold(deps, current, refused=True)
    else:
        await _apply(deps, current, decision)
    deps.notifier.wake(attempt_id)
    deps.subscribers.wake(contract_id)


async def _decide(deps: Deps, current: CurrentAttempt) -> ValidationDecision:
    if not deps.policy.governance_check:
        return ValidationDecision(valid=True, action=Action.SKIPPED)
    earlier = await load_earlier_judged_attempts(deps, current.state, current.row)
    request = make_validation_request(current.awarded, current.row, current.candidate, earlier)
    return await deps.governance.validate(request)


async def _apply(deps: Deps, current: CurrentAttempt, decision: ValidationDecision) -> None:
    """Apply governance's decision, unless the contract is no longer closing on this attempt."""
    contract_id, governance = current.contract_id, governance_result(decision)

    async def apply(unit: Unit) -> ContractStatus | None:
        found = await _load_closing(unit, contract_id, current.attempt_id)
        if found is None:
            return None
        stored, attempt = found
        if governance.action is Action.HOLD:
            _hold_contract(unit, stored, attempt, governance, HoldCause.FRAUD_SUSPECTED)
            return ContractStatus.HELD
        status = stored.record.state.closing or ContractStatus.FAILED
        if governance.action is Action.REJECT:
            status = ContractStatus.FAILED
        await end_contract_and_publish_outcome(unit, deps.policy, stored, attempt, current, status, governance)
        return status

    status = await deps.unit_of_work.run(apply)
    if status is not None:
        _log.info("contract_concluded", contract_id=contract_id, status=status, governance=governance.action)


async def _retry_or_hold(deps: Deps, current: CurrentAttempt, *, refused: bool) -> None:
    """Schedule a retry of the conclusion by timer, or hold the contract.

    An unavailable governance is retried without limit. A refused request is retried `max_system_retries` times; then
    an operator decides.
    """

    async def retry(unit: Unit) -> None:
        found = await _load_closing(unit, current.contract_id, current.attempt_id)
        if found is None:
            return
        stored, attempt = found
        tries, jitter = attempt.record.governance_tries + refused, deps.ids.jitter()
        if refused and tries > deps.policy.max_system_retries:
            _hold_contract(unit, stored, attempt, _NO_DECISION, HoldCause.SYSTEM_RETRIES_EXHAUSTED)
            return
        waited = unit.now - stored.record.state.updated_at
        delay = SYSTEM_BACKOFF.delay(tries, jitter) if refused else compute_retry_delay(waited, jitter)
        is_judged = attempt.record.status is AttemptStatus.JUDGED  # a published verdict stays
        status = AttemptStatus.JUDGED if is_judged else AttemptStatus.WAITING
        changes = {"status": status, "governance_tries": tries}
        unit.update(ATTEMPTS, attempt, attempt.record.model_copy(update=changes))
        unit.set_timer(CONCLUDE, current.contract_id, unit.now + delay)

    await deps.unit_of_work.run(retry)


async def _load_closing(
    unit: Unit, contract_id: str, attempt_id: str
) -> tuple[Stored[ContractRow], Stored[AttemptRow]] | None:
    """Return contract and attempt; None if the contract is not closing on this attempt."""
    stored = await unit.get(CONTRACTS, key_of(contract_id))
    attempt = await unit.get(ATTEMPTS, key_of(attempt_id))
    if stored is None or attempt is None:
        return None
    state = stored.record.state
    return (stored, attempt) if state.is_closing and state.current_attempt == attempt_id else None


def _hold_contract(
    unit: Unit, stored: Stored[ContractRow], attempt: Stored[AttemptRow], governance: GovernanceResult, cause: HoldCause
) -> None:
    contract_id, attempt_id = stored.record.contract_id, attempt.record.attempt_id
    save_contract_with_events(unit, stored, hold_for_operator(stored.record.state, unit.now))
    result = apply_governance(_require_result(attempt.record), governance)
    changes = {"status": AttemptStatus.HELD, "result": result}
    unit.update(ATTEMPTS, attempt, attempt.record.model_copy(update=changes))
    event = OutcomeHeld(contract_id=contract_id, attempt_id=attempt_id, cause=cause, flags=governance.flags)
    unit.emit("outcome.held", contract_id, event, attempt_id)
    unit.cancel_timer(CONCLUDE, contract_id)
    unit.measures.count(ATTEMPTS_TOTAL, AttemptStatus.HELD)


async def end_contract_and_publish_outcome(
    unit: Unit,
    policy: Policy,
    stored: Stored[ContractRow],
    attempt: Stored[AttemptRow],
    inputs: AttemptInputs,
    status: ContractStatus,
    governance: GovernanceResult,
) -> None:
    """End the contract with this status: write state, attempt and outcome, and publish the outcome."""
    awarded, candidate = inputs.awarded, inputs.candidate
    result = apply_governance(_require_result(attempt.record), governance)
    state = end_contract(stored.record.state, status, unit.now)
    final_result = await _load_final_result(unit, awarded, attempt.record, candidate)
    await write_and_publish_outcome(
        unit, awarded, state, result, candidate, final_result, with_result=policy.store_outcomes
    )
    save_contract_with_events(unit, stored, state)
    changes = {"status": AttemptStatus.JUDGED, "verdict": result.verdict, "result": result}
    unit.update(ATTEMPTS, attempt, attempt.record.model_copy(update=changes))


def _require_result(attempt: AttemptRow) -> VerificationResult:
    if attempt.result is None:
        raise LookupError(f"{attempt.attempt_id} closes its contract without a result")
    return attempt.result


async def _load_final_result(unit: Unit, awarded: ContractAwarded, attempt: AttemptRow, candidate: Candidate) -> Any:
    """Return the result of the named verifier; the output itself if the verifier gave none.

    The output is also returned if the work has no named verifier, or if the verifier did not rule on the attempt.
    """
    if awarded.work.verification.verifier is None:
        return candidate.output
    stored = await unit.get(FINAL_RESULTS, key_of(attempt.attempt_id))
    return stored.record.final_result if stored else candidate.output


async def write_and_publish_outcome(
    unit: Unit,
    awarded: ContractAwarded,
    state: ContractState,
    result: VerificationResult | None,
    candidate: Candidate | None,
    final_result: Any = None,
    *,
    with_result: bool = True,
) -> None:
    """Write the outcome of a contract in its final `state`, and emit `outcome.verified`.

    Cancels the contract's timers. `result`, `candidate` and `final_result` belong to the attempt on which the outcome
    rests; they are None if there is no such attempt. If `with_result` is false, the stored record lacks all three. The
    event always has the result, because settlement needs it.
    """
    contract_id = state.contract_id
    record = make_outcome_record(
        awarded,
        state.status,
        result,
        final_result,
        candidate.execution_metadata.model_dump(mode="json", exclude_none=True) if candidate else {},
        state.verification.attempts_used,
        unit.now,
    )
    await unit.create_large(OUTCOMES, key_of(contract_id), record if with_result else strip_result_and_metadata(record))
    # The event has no output: it may have megabytes, too many to serialise on the event loop.
    event = OutcomeVerified(outcome=record.model_copy(update={"final_result": None}))
    unit.emit("outcome.verified", contract_id, event)
    unit.cancel_timer(DEADLINE, contract_id)
    unit.cancel_timer(CONCLUDE, contract_id)
    unit.measures.count(CONTRACTS_ENDED_TOTAL, state.status)


async def mark_outcome_as_paid_if_cost_is_positive(deps: Deps, adjusted: SettlementAdjusted) -> None:
    """Let the consumer read the output once a revision of its settlement costs something.

    A later revision without costs changes nothing: what was paid for once stays readable.
    """
    if adjusted.cost.total <= 0:
        return

    async def mark_paid(unit: Unit) -> bool:
        stored = await unit.get(OUTCOMES, key_of(adjusted.contract_id))
        if stored is None or is_paid_or_successful(stored.record):
            return False
        paid = stored.record.model_copy(update={"paid_by_correction": True})
        await unit.put_large(OUTCOMES, key_of(adjusted.contract_id), paid)
        return True

    if await deps.unit_of_work.run(mark_paid):
        _log.info("payment_recorded", contract_id=adjusted.contract_id, revision=adjusted.revision)
