"""Recording of a grade: the new states of attempt and contract, their events and timers."""

from dataclasses import dataclass, replace

from aex_models.contract import AttemptStatus, ContractStatus
from aex_models.events import OutcomeHeld, OutputRejected
from aex_models.governance import HoldCause
from aex_models.large_thresholds import omit_large_thresholds
from aex_models.results import Verdict, VerificationResult
from aex_outcomes.engine.final_result import as_rejected_without_amounts
from aex_outcomes.feedback import render_invalid_output
from aex_outcomes.lifecycle.ruling import Accepted, Invalid, Rejected, Ruling
from aex_outcomes.lifecycle.state import ContractState
from aex_outcomes.lifecycle.transitions import apply_verdict, count_system_failure_or_hold, record_invalid_output
from aex_runtime.store.port import key_of
from aex_runtime.store.table import Stored
from aex_runtime.unit_of_work import Unit
from aex_verification.deps import Deps
from aex_verification.handlers.conclude import write_and_publish_outcome
from aex_verification.handlers.grade_candidate import CurrentAttempt
from aex_verification.handlers.save_contract import (
    CONCLUDE,
    DEADLINE,
    VERIFY,
    RejectionDetails,
    save_contract_with_events,
)
from aex_verification.measures import ATTEMPTS_TOTAL, VERDICT_LAG_SECONDS, VERDICTS_TOTAL
from aex_verification.ports import Grade
from aex_verification.repository import ATTEMPTS, FINAL_RESULTS
from aex_verification.rules.records import SYSTEM_BACKOFF, AttemptRow, ContractRow, FinalResult, GovernanceFacts
from aex_verification.rules.verdicts import (
    RejectionNotice,
    make_indeterminate_result,
    make_rejection_notice,
    permanent_hold_cause,
)


@dataclass(frozen=True, slots=True)
class GradeRecorder:
    """Recorder of one grade inside a unit's transaction.

    `stored` and `stored_attempt` are contract and attempt as read in the unit. Each record method returns the current
    attempt as it was written.
    """

    deps: Deps
    unit: Unit
    current: CurrentAttempt
    stored: Stored[ContractRow]
    stored_attempt: Stored[AttemptRow]
    grade: Grade

    @property
    def row(self) -> AttemptRow:
        """Return the attempt as read in the unit."""
        return self.stored_attempt.record

    async def record_verdict(self, result: VerificationResult) -> CurrentAttempt:
        """Record a verdict: count the attempt, and write the new states of attempt and contract.

        A rejection is published with feedback. If the verdict closes the contract, a timer is set for its conclusion.
        """
        unit, before, ruling = self.unit, self.stored.record.state, self.grade.ruling
        is_fatal = isinstance(ruling, Rejected) and ruling.fatal
        state = apply_verdict(before, result.verdict, result.weighted_score, unit.now, fatal=is_fatal)
        result = self._complete(result)
        notice = None
        if result.verdict is not Verdict.PASSED:
            notice = make_rejection_notice(result, ruling, state.verification, self.current.awarded.work)
        counted = state.verification.attempts_used > before.verification.attempts_used
        row = self._judged_row(result, notice, counted=counted)
        rejection = None
        if notice is not None:
            state = state.model_copy(update={"last_feedback": notice.feedback})
            rejection = RejectionDetails(row.attempt_id, row.counted, notice.code, notice.message)
            event = OutputRejected(contract_id=row.contract_id, attempt_id=row.attempt_id, code=notice.code)
            unit.emit("output.rejected", row.contract_id, event, row.attempt_id)
        else:
            await self._save_final_result(ruling)
        save_contract_with_events(unit, self.stored, state, rejection)
        unit.update(ATTEMPTS, self.stored_attempt, row)
        self._set_timers(state)
        unit.measures.count(ATTEMPTS_TOTAL, AttemptStatus.JUDGED)
        unit.measures.count(VERDICTS_TOTAL, result.verdict)
        if not row.operator_retries:  # the lag of a retry would include the operator's decision
            unit.measures.observe(VERDICT_LAG_SECONDS, (unit.now - row.received_at).total_seconds())
        return replace(self.current, state=state, row=row)

    def _judged_row(self, result: VerificationResult, notice: RejectionNotice | None, *, counted: bool) -> AttemptRow:
        """Return the attempt with its verdict; a pass is not visible before governance has allowed it."""
        return self.row.model_copy(
            update={
                "status": AttemptStatus.JUDGED if notice else AttemptStatus.VERIFYING,
                "verdict": result.verdict,
                "counted": counted,
                "feedback": notice.feedback if notice else None,
                "result": omit_large_thresholds(result),
                "facts": self.grade.facts,
                "governance_tries": 0,
                "judged_at": result.verified_at,
                "last_error": None,
            }
        )

    async def record_invalid_output(self, ruling: Invalid) -> CurrentAttempt:
        """Write an invalid output with its errors as feedback; it uses no attempt.

        The contract stays open, unless its deadline has passed: then it ends and its outcome is written.
        """
        unit, feedback = self.unit, render_invalid_output(ruling.errors)
        state = record_invalid_output(self.stored.record.state, unit.now).model_copy(update={"last_feedback": feedback})
        changes = {"status": AttemptStatus.INVALID, "errors": ruling.errors, "feedback": feedback}
        emptied = {"result": None, "facts": GovernanceFacts(), "last_error": None}
        if state.is_final:  # the deadline passed, and nothing was judged before
            await write_and_publish_outcome(unit, self.current.awarded, state, None, None)
        save_contract_with_events(unit, self.stored, state)
        row = self.row.model_copy(update=changes | emptied)
        unit.update(ATTEMPTS, self.stored_attempt, row)
        unit.measures.count(ATTEMPTS_TOTAL, AttemptStatus.INVALID)
        self._set_timers(state)
        return replace(self.current, state=state, row=row)

    async def record_failure_and_retry_or_hold(self) -> CurrentAttempt:
        """Record a failed verification: schedule a retry, or hold the attempt if no retry is left or can help.

        A candidate that the named verifier rejected is recorded as rejected instead of held, because it cannot have
        passed.
        """
        result, ruling = self.grade.result, self.grade.ruling
        cause = permanent_hold_cause(result) if result is not None else None
        retries = 0 if cause is not None or isinstance(ruling, Invalid) else self.deps.policy.max_system_retries
        state = count_system_failure_or_hold(self.stored.record.state, retries, self.unit.now)
        is_held = state.status is ContractStatus.HELD
        if is_held and isinstance(ruling, Rejected):
            return await self.record_verdict(
                as_rejected_without_amounts(result or make_indeterminate_result(self.row, self.unit.now))
            )
        if is_held:
            await self._hold(cause or HoldCause.SYSTEM_RETRIES_EXHAUSTED)
        else:
            delay = SYSTEM_BACKOFF.delay(state.system_retries, self.deps.ids.jitter())
            payload = {"contract_id": self.row.contract_id}
            self.unit.set_timer(VERIFY, self.row.attempt_id, self.unit.now + delay, payload)
            self.unit.measures.count(ATTEMPTS_TOTAL, AttemptStatus.WAITING)
        save_contract_with_events(self.unit, self.stored, state)
        changes = {
            "status": AttemptStatus.HELD if is_held else AttemptStatus.WAITING,
            "verdict": Verdict.INDETERMINATE if is_held else None,
            "result": omit_large_thresholds(self._complete(result)) if result else None,
            "facts": self.grade.facts,
            "system_retries": state.system_retries,
            "last_error": self.grade.error or ("output_invalid" if isinstance(ruling, Invalid) else "indeterminate"),
            "rejected": ruling if isinstance(ruling, Rejected) else None,
        }
        row = self.row.model_copy(update=changes)
        self.unit.update(ATTEMPTS, self.stored_attempt, row)
        return replace(self.current, state=state, row=row)

    async def _hold(self, cause: HoldCause) -> None:
        unit, contract_id, attempt_id = self.unit, self.row.contract_id, self.row.attempt_id
        event = OutcomeHeld(contract_id=contract_id, attempt_id=attempt_id, cause=cause)
        unit.emit("outcome.held", contract_id, event, attempt_id)
        unit.cancel_timer(VERIFY, attempt_id)
        await self._save_final_result(self.grade.ruling)
        unit.measures.count(ATTEMPTS_TOTAL, AttemptStatus.HELD)
        unit.measures.count(VERDICTS_TOTAL, Verdict.INDETERMINATE)

    async def _save_final_result(self, ruling: Ruling | None) -> None:
        """Store the named verifier's result, which the outcome of a pass or of a released hold contains."""
        if isinstance(ruling, Accepted):
            attempt_id, contract_id = self.row.attempt_id, self.row.contract_id
            record = FinalResult(attempt_id=attempt_id, contract_id=contract_id, final_result=ruling.final_result)
            await self.unit.create_large(FINAL_RESULTS, key_of(attempt_id), record)

    def _set_timers(self, state: ContractState) -> None:
        self.unit.cancel_timer(VERIFY, self.row.attempt_id)
        if state.closing is not None:
            # It is concluded right after this commit; the timer serves if the process ends in between.
            self.unit.set_timer(CONCLUDE, state.contract_id, self.unit.now + self.deps.policy.lease)
        elif not state.is_final:
            # It may have fired during the verification, on a clock that was ahead of this one.
            self.unit.set_timer(DEADLINE, state.contract_id, state.deadline)

    def _complete(self, result: VerificationResult) -> VerificationResult:
        return result.model_copy(update={"candidate_hash": self.row.candidate_hash, "verified_at": self.unit.now})
