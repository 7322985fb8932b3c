"""Every change of a contract's state, as a pure function of the state before it.

A function that may not be applied raises `Refused`; nothing else is ever raised. Time is the time of receipt.
"""

from datetime import datetime

from aex_models.contract import ContractStatus
from aex_models.results import Verdict
from aex_outcomes.lifecycle.state import ContractState, InvalidCandidate, Judged, LastOutcome, VerificationState


class Refused(Exception):
    """The state does not allow the change. `retry`: it may, once what is under way has ended."""

    def __init__(self, code: str, message: str, *, retry: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.retry = retry


def opened(contract_id: str, max_attempts: int, deadline: datetime, awarded_at: datetime) -> ContractState:
    """The state of a fresh award, or of a loop that begins: it waits for the agent."""
    return ContractState(
        contract_id=contract_id,
        verification=VerificationState(max_attempts=max_attempts),
        deadline=deadline,
        waiting_since=awarded_at,
        updated_at=awarded_at,
    )


def received(state: ContractState, attempt_id: str, candidate_hash: str, now: datetime) -> ContractState:
    """A new candidate is taken in for verification. (Replays are recognised before: see `known_attempt`.)"""
    _refuse_if_closed(state)
    _refuse_after_deadline(state, now)
    waited = (now - state.waiting_since).total_seconds() * 1000 if state.waiting_since else 0.0
    return _next(
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


def known_attempt(state: ContractState, candidate_hash: str) -> str | None:
    """The attempt that this candidate already has: the one under way, or else the one in which it was judged.

    A candidate that an operator has verified anew is both: its earlier verdict stands no longer.
    """
    if state.current_hash == candidate_hash:
        return state.current_attempt
    judged = state.verification.judged.get(candidate_hash)
    if judged is not None:
        return judged.attempt_id
    invalid = state.last_invalid
    return invalid.attempt_id if invalid is not None and invalid.candidate_hash == candidate_hash else None


def judged(
    state: ContractState, verdict: Verdict, weighted_score: float, now: datetime, *, fatal: bool = False
) -> ContractState:
    """The current candidate has its verdict: it is counted, once, and the contract revises or closes.

    `fatal`: the verifier has rejected it and wants no further one. Where the contract closes, `closing` says how, and
    `current_attempt` becomes the attempt that the outcome rests on.
    """
    if verdict is Verdict.INDETERMINATE:
        raise Refused("not_a_verdict", "An indeterminate verification is a system error, not a verdict")
    counted = _count(state, verdict, weighted_score)
    state = _next(state, now, verification=counted, system_retries=0, last_invalid=None)
    if verdict is Verdict.PASSED:
        return _next(state, now, closing=ContractStatus.PASSED)
    return _revising(_next(state, now, fatal_hash=state.current_hash) if fatal else state, now)


def found_invalid(state: ContractState, now: datetime) -> ContractState:
    """The current candidate's output is of a shape that the verifier does not take: no attempt, and no verdict.

    The contract is back where it was, unless it has been over meanwhile.
    """
    if state.current_hash is None or state.current_attempt is None:
        raise Refused("nothing_under_verification", "There is no candidate under verification")
    seen = InvalidCandidate(attempt_id=state.current_attempt, candidate_hash=state.current_hash)
    return _revising(_next(state, now, last_invalid=seen, system_retries=0), now)


def _revising(state: ContractState, now: datetime) -> ContractState:
    """The agent may try again, unless the contract is over."""
    if state.fatal_hash is not None:  # now, or before an operator had another candidate verified anew
        return _close(state, ContractStatus.FAILED, now)
    if state.finalise_asked:  # before an operator had the candidate verified anew
        return _close(state, ContractStatus.FINALISED, now)
    if now >= state.deadline:  # from this moment on its timer may have fired already
        return _close(state, ContractStatus.EXPIRED, now)
    if state.verification.exhausted:
        return _close(state, ContractStatus.EXHAUSTED, now)
    return _next(
        state,
        now,
        status=ContractStatus.AWAITING_REVISION if state.verification.judged else ContractStatus.AWARDED,
        current_attempt=None,
        current_hash=None,
        waiting_since=now,
    )


def failed_to_verify(state: ContractState, max_system_retries: int, now: datetime) -> ContractState:
    """The verifier itself failed: no attempt is counted; past the retries the contract is held."""
    retries = state.system_retries + 1
    verification = state.verification.model_copy(
        update={"last_candidate_hash": state.current_hash, "last_outcome": LastOutcome.SYSTEM_ERROR}
    )
    status = ContractStatus.HELD if retries > max_system_retries else ContractStatus.VERIFYING
    return _next(state, now, system_retries=retries, verification=verification, status=status)


def finalising(state: ContractState, now: datetime) -> ContractState:
    """The agent settles early, with its best judged candidate."""
    _refuse_if_closed(state)
    _refuse_after_deadline(state, now)
    if state.verification.best is None:
        raise Refused("nothing_judged", "No candidate has been judged yet: there is nothing to finalise")
    return _close(_next(state, now, finalise_asked=True), ContractStatus.FINALISED, now)


def expiring(state: ContractState, now: datetime) -> ContractState:
    """The deadline is over. While a candidate is under way this waits for its verdict (see `judged`)."""
    _refuse_if_closed(state)
    if now < state.deadline:
        raise Refused("before_deadline", "The deadline is not over yet")
    return _close(state, ContractStatus.EXPIRED, now)


def cancelled(state: ContractState, now: datetime) -> ContractState:
    """The consumer takes the contract back; only before the first candidate."""
    _refuse_if_closed(state)
    _refuse_after_deadline(state, now)
    if state.received:
        raise Refused("candidate_received", "A contract can be cancelled only before its first candidate is received")
    return _next(state, now, status=ContractStatus.CANCELLED, waiting_since=None)


def held(state: ContractState, now: datetime) -> ContractState:
    """Governance wants a human to decide."""
    return _next(state, now, status=ContractStatus.HELD)


def retried(state: ContractState, attempt_id: str, candidate_hash: str, now: datetime) -> ContractState:
    """An operator has the held candidate verified anew, under a new attempt that is not counted twice."""
    return _next(
        state,
        now,
        status=ContractStatus.VERIFYING,
        current_attempt=attempt_id,
        current_hash=candidate_hash,
        closing=None,
        fatal_hash=None if state.fatal_hash == candidate_hash else state.fatal_hash,
        system_retries=0,
    )


def ended(state: ContractState, status: ContractStatus, now: datetime) -> ContractState:
    """The contract has its outcome."""
    return _next(state, now, status=status, closing=None, current_attempt=None, current_hash=None, waiting_since=None)


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
    """Towards a final status, resting on the best judged candidate; at once where nothing was judged."""
    best = state.verification.best
    if best is None:
        return ended(state, status, now)
    chosen = next(key for key, each in state.verification.judged.items() if each.attempt_id == best.attempt_id)
    return _next(
        state,
        now,
        status=ContractStatus.VERIFYING,
        closing=status,
        current_attempt=best.attempt_id,
        current_hash=chosen,
        waiting_since=None,
    )


def _refuse_if_closed(state: ContractState) -> None:
    if state.final:
        raise Refused("contract_closed", f"The contract is {state.status.value}")
    if state.busy:
        raise Refused("candidate_under_way", f"A candidate is {_UNDER_WAY[state.status]}; try again later", retry=True)


def _refuse_after_deadline(state: ContractState, now: datetime) -> None:
    """However late the deadline's timer fires, nothing but the deadline acts after it."""
    if now > state.deadline:
        raise Refused("deadline_passed", "The contract's deadline is over")


_UNDER_WAY = {ContractStatus.VERIFYING: "being verified", ContractStatus.HELD: "held for review"}


def _next(state: ContractState, now: datetime, **changes: object) -> ContractState:
    return state.model_copy(update={**changes, "updated_at": now, "state_version": state.state_version + 1})
