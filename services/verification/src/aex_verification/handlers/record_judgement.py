"""What a judgement makes of its attempt and contract, inside one transaction."""

from dataclasses import dataclass

from aex_models.contract import AttemptStatus, ContractStatus
from aex_models.events import ContractAwarded, OutcomeHeld, OutputRejected
from aex_models.governance import HoldCause
from aex_models.results import Verdict, VerificationResult
from aex_outcomes.engine.combining import rejected_alone
from aex_outcomes.lifecycle.ruling import Accepted, Invalid, Rejected, Ruling
from aex_outcomes.lifecycle.state import ContractState
from aex_outcomes.lifecycle.transitions import failed_to_verify, found_invalid, judged
from aex_runtime.store.keys import key_of
from aex_runtime.store.table import Stored
from aex_runtime.unit_of_work import Unit
from aex_verification.deps import Deps
from aex_verification.handlers.finish import write_outcome
from aex_verification.handlers.save_contract import Rejecting, save_contract
from aex_verification.handlers.timers import CONCLUDE, DEADLINE, VERIFY
from aex_verification.measures import ATTEMPTS_TOTAL, VERDICT_LAG_SECONDS, VERDICTS_TOTAL
from aex_verification.ports import Judgement
from aex_verification.repository import ATTEMPTS, FINAL_RESULTS
from aex_verification.rules.bare_result import bare_result
from aex_verification.rules.inconclusive import cause_for_good
from aex_verification.rules.policy import SYSTEM_BACKOFF
from aex_verification.rules.records import AttemptRow, ContractRow, Facts, FinalResult
from aex_verification.rules.told import Told, invalid_told, rejection_told, says_fatal


@dataclass(frozen=True, slots=True)
class Recorded:
    """The contract's state and the attempt, as they were written."""

    state: ContractState
    attempt: AttemptRow


async def record_verdict(
    deps: Deps,
    unit: Unit,
    awarded: ContractAwarded,
    stored: Stored[ContractRow],
    attempt: Stored[AttemptRow],
    result: VerificationResult,
    judgement: Judgement,
) -> Recorded:
    """Count the verdict; tell the agent of a rejection, and hand what closes to governance."""
    before = stored.record.state
    passed = result.verdict is Verdict.PASSED
    state = judged(before, result.verdict, result.weighted_score, unit.now, fatal=says_fatal(judgement.ruling))
    result = _of_attempt(result, attempt.record, unit)
    told = None if passed else rejection_told(result, judgement.ruling, state.verification, awarded.work)
    counted = state.verification.attempts_used > before.verification.attempts_used
    row = _judged_row(attempt.record, result, judgement, told, counted=counted)
    rejecting = None
    if told is not None:
        state = state.model_copy(update={"last_feedback": told.feedback})
        rejecting = Rejecting(row.attempt_id, row.counted, told.code, told.message)
        event = OutputRejected(contract_id=row.contract_id, attempt_id=row.attempt_id, code=told.code)
        unit.emit("output.rejected", row.contract_id, event, row.attempt_id)
    else:
        await _keep_final_result(unit, row, judgement.ruling)
    save_contract(unit, stored, state, rejecting)
    unit.update(ATTEMPTS, attempt, row)
    _set_timers(deps, unit, state, row.attempt_id)
    _measure(unit, attempt.record, result.verdict)
    return Recorded(state, row)


def _measure(unit: Unit, row: AttemptRow, verdict: Verdict) -> None:
    unit.measures.count(ATTEMPTS_TOTAL, AttemptStatus.JUDGED)
    unit.measures.count(VERDICTS_TOTAL, verdict)
    if not row.operator_retries:  # else it was received before the operator was asked
        unit.measures.observe(VERDICT_LAG_SECONDS, (unit.now - row.received_at).total_seconds())


def _judged_row(
    row: AttemptRow, result: VerificationResult, judgement: Judgement, told: Told | None, *, counted: bool
) -> AttemptRow:
    """The attempt with its verdict. A pass is told only once governance has allowed it."""
    return row.model_copy(
        update={
            "status": AttemptStatus.JUDGED if told else AttemptStatus.VERIFYING,
            "verdict": result.verdict,
            "counted": counted,
            "feedback": told.feedback if told else None,
            "result": result,
            "facts": judgement.facts,
            "judged_at": result.verified_at,
            "last_error": None,
        }
    )


async def record_invalid(
    deps: Deps,
    unit: Unit,
    awarded: ContractAwarded,
    stored: Stored[ContractRow],
    attempt: Stored[AttemptRow],
    ruling: Invalid,
) -> Recorded:
    """No attempt and no verdict: the errors are told, and the contract is where it was, unless it is over meanwhile."""
    feedback = invalid_told(ruling)
    state = found_invalid(stored.record.state, unit.now).model_copy(update={"last_feedback": feedback})
    changes = {
        "status": AttemptStatus.INVALID,
        "errors": ruling.errors,
        "feedback": feedback,
        "result": None,
        "facts": Facts(),
        "last_error": None,
    }
    if state.final:  # the deadline passed, and nothing was judged before
        await write_outcome(unit, awarded, state, None, None)
    save_contract(unit, stored, state)
    row = attempt.record.model_copy(update=changes)
    unit.update(ATTEMPTS, attempt, row)
    unit.measures.count(ATTEMPTS_TOTAL, AttemptStatus.INVALID)
    _set_timers(deps, unit, state, row.attempt_id)
    return Recorded(state, row)


async def record_failure(
    deps: Deps,
    unit: Unit,
    awarded: ContractAwarded,
    stored: Stored[ContractRow],
    attempt: Stored[AttemptRow],
    judgement: Judgement,
) -> Recorded:
    """Try again in a while, or put it before an operator: at once where that will not help.

    What the named verifier has rejected is not put before anybody: it cannot have passed.
    """
    row, ruling = attempt.record, judgement.ruling
    lasting = cause_for_good(judgement.result) if judgement.result is not None else None
    hopeless = lasting is not None or isinstance(ruling, Invalid)
    state = failed_to_verify(stored.record.state, 0 if hopeless else deps.policy.max_system_retries, unit.now)
    if state.status is ContractStatus.HELD and isinstance(ruling, Rejected):
        result = rejected_alone(judgement.result or bare_result(row, unit.now))
        return await record_verdict(deps, unit, awarded, stored, attempt, result, judgement)
    contract_id, attempt_id = row.contract_id, row.attempt_id
    held = state.status is ContractStatus.HELD
    if held:
        cause = lasting or HoldCause.SYSTEM_RETRIES_EXHAUSTED
        event = OutcomeHeld(contract_id=contract_id, attempt_id=attempt_id, cause=cause)
        unit.emit("outcome.held", contract_id, event, attempt_id)
        unit.cancel_timer(VERIFY, attempt_id)
        await _keep_final_result(unit, row, ruling)
    else:
        delay = SYSTEM_BACKOFF.delay(state.system_retries, deps.ids.jitter())
        unit.set_timer(VERIFY, attempt_id, unit.now + delay, {"contract_id": contract_id})
    save_contract(unit, stored, state)
    changes = {
        "status": AttemptStatus.HELD if held else AttemptStatus.WAITING,
        "verdict": Verdict.INDETERMINATE if held else None,
        "result": _of_attempt(judgement.result, row, unit) if judgement.result else None,
        "facts": judgement.facts,
        "system_retries": state.system_retries,
        "last_error": judgement.error or ("output_invalid" if isinstance(ruling, Invalid) else "indeterminate"),
        "rejected": ruling if isinstance(ruling, Rejected) else None,
    }
    row = row.model_copy(update=changes)
    unit.update(ATTEMPTS, attempt, row)
    unit.measures.count(ATTEMPTS_TOTAL, AttemptStatus.HELD if held else AttemptStatus.WAITING)
    if held:
        unit.measures.count(VERDICTS_TOTAL, Verdict.INDETERMINATE)
    return Recorded(state, row)


async def _keep_final_result(unit: Unit, row: AttemptRow, ruling: Ruling | None) -> None:
    """What the verifier returned, for the outcome: of a pass, and of what an operator may make one."""
    if isinstance(ruling, Accepted):
        kept = FinalResult(attempt_id=row.attempt_id, contract_id=row.contract_id, final_result=ruling.final_result)
        await unit.create_large(FINAL_RESULTS, key_of(row.attempt_id), kept)


def _set_timers(deps: Deps, unit: Unit, state: ContractState, attempt_id: str) -> None:
    """After a candidate was looked at: what has to happen next, should nobody do anything."""
    unit.cancel_timer(VERIFY, attempt_id)
    if state.closing is not None:
        # Concluded right after this commit; the timer is for the case that the process ends in between.
        unit.set_timer(CONCLUDE, state.contract_id, unit.now + deps.policy.lease)
    elif not state.final:
        # It may have fired while the candidate was under verification, on a clock that was ahead of this one.
        unit.set_timer(DEADLINE, state.contract_id, state.deadline)


def _of_attempt(result: VerificationResult, attempt: AttemptRow, unit: Unit) -> VerificationResult:
    """The worker's result with what the platform alone can say: of which candidate it is, and since when it holds."""
    return result.model_copy(update={"candidate_hash": attempt.candidate_hash, "verified_at": unit.now})
