"""State transitions of a contract: pure functions that return the next state or raise `Refused`."""

from datetime import datetime

from aex_models.contract import CancelCause, ContractStatus
from aex_models.results import Verdict
from aex_outcomes.lifecycle.state import ContractState, InvalidCandidate, Judged, LastOutcome, VerificationState


class Refused(Exception):
    """Error for a transition that the state does not allow.

    `retry`: it may succeed once the current attempt is decided.
    """

    def __init__(self, code: str, message: str, *, retry: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.retry = retry


def create_state(contract_id: str, max_attempts: int, deadline: datetime, awarded_at: datetime) -> ContractState:
    """Return the state of a new contract or loop, which waits for the agent's first candidate."""
    fresh = VerificationState(max_attempts=max_attempts)
    times = {"deadline": deadline, "waiting_since": awarded_at, "updated_at": awarded_at}
    return ContractState(contract_id=contract_id, verification=fresh, **times)


def receive_candidate(state: ContractState, attempt_id: str, candidate_hash: str, now: datetime) -> ContractState:
    """Start the verification of a new candidate, and add the time that the contract waited for it.

    The caller excludes known candidates before, by `find_attempt_by_hash`. Raises `Refused` unless the contract is
    open.
    """
    _refuse_unless_open(state, now)
    waited = (now - state.waiting_since).total_seconds() * 1000 if state.waiting_since else 0.0
    return _next_state(
        state,
        now,
        status=ContractStatus.VERIFYING,
        current_attempt=attempt_id,
        current_hash=candidate_hash,
        waiting_since=None,
        agent_ms=state.agent_ms + max(waited, 0.0),
        received=state.received + 1,
        system_retries=0,
    )


def find_attempt_by_hash(state: ContractState, candidate_hash: str) -> str | None:
    """Return the id of the attempt of a candidate with this hash; None for an unknown candidate.

    Known are the current candidate, candidates with a counted verdict, and the last invalid candidate. The current
    attempt has precedence: an operator's retry supersedes the candidate's earlier verdict.
    """
    if state.current_hash == candidate_hash:
        return state.current_attempt
    judged = state.verification.judged.get(candidate_hash)
    if judged is not None:
        return judged.attempt_id
    invalid = state.last_invalid
    return invalid.attempt_id if invalid is not None and invalid.candidate_hash == candidate_hash else None


def apply_verdict(
    state: ContractState, verdict: Verdict, weighted_score: float, now: datetime, *, fatal: bool = False
) -> ContractState:
    """Count the verdict on the current candidate; then close the contract or wait for a revision.

    The contract closes after a pass, a fatal rejection, a request to finalise, the deadline or the last attempt. Then
    `closing` is its final status, and `current_attempt` the best attempt, which its outcome rests on. A repeated
    verdict on the same candidate uses no further attempt. `fatal`: the rejection allows no further candidate. Raises
    `Refused` for an indeterminate verdict, and without a current candidate.
    """
    if verdict is Verdict.INDETERMINATE:
        raise Refused("not_a_verdict", "An indeterminate verdict is a system error; it cannot be recorded")
    counted = _count(state, verdict, weighted_score)
    state = _next_state(state, now, verification=counted, system_retries=0, last_invalid=None)
    if verdict is Verdict.PASSED:
        return _next_state(state, now, closing=ContractStatus.PASSED)
    return _revise_or_close(_next_state(state, now, fatal_hash=state.current_hash) if fatal else state, now)


def record_invalid_output(state: ContractState, now: datetime) -> ContractState:
    """Record that the current candidate's output is invalid, which uses no attempt.

    Then the contract closes or waits for a revision, as after a rejection. Raises `Refused` without a current
    candidate.
    """
    if state.current_hash is None or state.current_attempt is None:
        raise Refused("nothing_under_verification", "There is no candidate under verification")
    seen = InvalidCandidate(attempt_id=state.current_attempt, candidate_hash=state.current_hash)
    return _revise_or_close(_next_state(state, now, last_invalid=seen, system_retries=0), now)


def _revise_or_close(state: ContractState, now: datetime) -> ContractState:
    if state.fatal_hash is not None:  # from this verdict, or from before an operator's retry of another candidate
        return _close(state, ContractStatus.FAILED, now)
    if state.finalise_asked:  # before an operator's retry of the candidate
        return _close(state, ContractStatus.FINALISED, now)
    if now >= state.deadline:  # from this moment on its timer may have fired already
        return _close(state, ContractStatus.EXPIRED, now)
    if state.verification.is_exhausted:
        return _close(state, ContractStatus.EXHAUSTED, now)
    return _next_state(
        state,
        now,
        status=ContractStatus.AWAITING_REVISION if state.verification.judged else ContractStatus.AWARDED,
        current_attempt=None,
        current_hash=None,
        waiting_since=now,
    )


def count_system_failure_or_hold(state: ContractState, max_system_retries: int, now: datetime) -> ContractState:
    """Count a system failure of the current verification; after more than the maximum, hold the contract.

    A failure uses no attempt.
    """
    retries = state.system_retries + 1
    verification = state.verification.model_copy(
        update={"last_candidate_hash": state.current_hash, "last_outcome": LastOutcome.SYSTEM_ERROR}
    )
    status = ContractStatus.HELD if retries > max_system_retries else ContractStatus.VERIFYING
    return _next_state(state, now, system_retries=retries, verification=verification, status=status)


def finalise_early(state: ContractState, now: datetime) -> ContractState:
    """Close the contract early with the agent's best candidate, at the agent's request.

    Raises `Refused` unless the contract is open and a candidate has a verdict.
    """
    _refuse_unless_open(state, now)
    if state.verification.best is None:
        raise Refused("nothing_judged", "No candidate has been judged yet: there is nothing to finalise")
    return _close(_next_state(state, now, finalise_asked=True), ContractStatus.FINALISED, now)


def expire_at_deadline(state: ContractState, now: datetime) -> ContractState:
    """Close the contract as expired, with its best candidate if any.

    Raises `Refused` before the deadline, for an ended contract, and while a candidate is verified or held: its verdict
    will close the contract.
    """
    _refuse_if_closed(state)
    if now < state.deadline:
        raise Refused("before_deadline", "The deadline is not over yet")
    return _close(state, ContractStatus.EXPIRED, now)


def cancel_unstarted(state: ContractState, now: datetime, cause: CancelCause | None = None) -> ContractState:
    """Cancel a contract that has received no candidate. `cause`: None if the consumer cancels.

    Raises `Refused` after its first candidate, and unless it is open.
    """
    _refuse_unless_open(state, now)
    if state.received:
        action = "cancelled" if cause is None else cause.value
        raise Refused("candidate_received", f"A contract can be {action} only before its first candidate is received")
    return _next_state(state, now, status=ContractStatus.CANCELLED, cause=cause, waiting_since=None)


def hold_for_operator(state: ContractState, now: datetime) -> ContractState:
    """Hold the contract with its current attempt, for an operator's decision."""
    return _next_state(state, now, status=ContractStatus.HELD)


def retry_held_candidate(state: ContractState, attempt_id: str, candidate_hash: str, now: datetime) -> ContractState:
    """Verify the held candidate again, under a new attempt id that uses no further attempt.

    Clears the candidate's fatal rejection, if it had one.
    """
    return _next_state(
        state,
        now,
        status=ContractStatus.VERIFYING,
        current_attempt=attempt_id,
        current_hash=candidate_hash,
        closing=None,
        fatal_hash=None if state.fatal_hash == candidate_hash else state.fatal_hash,
        system_retries=0,
    )


def end_contract(state: ContractState, status: ContractStatus, now: datetime) -> ContractState:
    """Set the contract's final status, and clear its current attempt."""
    return _next_state(
        state, now, status=status, closing=None, current_attempt=None, current_hash=None, waiting_since=None
    )


def _count(state: ContractState, verdict: Verdict, weighted_score: float) -> VerificationState:
    accounting = state.verification
    if state.current_hash is None or state.current_attempt is None:
        raise Refused("nothing_under_verification", "There is no candidate under verification")
    before = accounting.judged.get(state.current_hash)
    entry = Judged(
        attempt_id=state.current_attempt,
        verdict=verdict,
        weighted_score=weighted_score,
        ordinal=before.ordinal if before else len(accounting.judged) + 1,
    )
    return accounting.model_copy(
        update={
            "attempts_used": accounting.attempts_used + (0 if before else 1),
            "judged": {**accounting.judged, state.current_hash: entry},
            "last_candidate_hash": state.current_hash,
            "last_outcome": LastOutcome(verdict.value),
        }
    )


def _close(state: ContractState, status: ContractStatus, now: datetime) -> ContractState:
    """Let governance decide on the best candidate before the final status; end at once without a verdict."""
    best = state.verification.best
    if best is None:
        return end_contract(state, status, now)
    chosen = next(key for key, each in state.verification.judged.items() if each.attempt_id == best.attempt_id)
    return _next_state(
        state,
        now,
        status=ContractStatus.VERIFYING,
        closing=status,
        current_attempt=best.attempt_id,
        current_hash=chosen,
        waiting_since=None,
    )


def _refuse_if_closed(state: ContractState) -> None:
    if state.is_final:
        raise Refused("contract_closed", f"The contract is {state.status.value}")
    if state.is_busy:
        raise Refused("candidate_under_way", f"A candidate is {_UNDER_WAY[state.status]}; try again later", retry=True)


def _refuse_unless_open(state: ContractState, now: datetime) -> None:
    _refuse_if_closed(state)
    if now > state.deadline:  # however late its timer fires
        raise Refused("deadline_passed", "The contract's deadline is over")


_UNDER_WAY = {ContractStatus.VERIFYING: "being verified", ContractStatus.HELD: "held for review"}


def _next_state(state: ContractState, now: datetime, **changes: object) -> ContractState:
    return state.model_copy(update={**changes, "updated_at": now, "state_version": state.state_version + 1})
