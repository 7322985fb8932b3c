"""The state machine of bounded revision."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from aex_models.contract import ContractStatus
from aex_models.results import Verdict
from aex_outcomes.lifecycle.state import ContractState, LastOutcome
from aex_outcomes.lifecycle.transitions import (
    Refused,
    cancelled,
    ended,
    expiring,
    failed_to_verify,
    finalising,
    found_invalid,
    judged,
    known_attempt,
    opened,
    received,
    retried,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
SOON = START + timedelta(minutes=1)
LATER = START + timedelta(days=8)


def fresh(max_attempts: int = 3) -> ContractState:
    return opened("ctr_1", max_attempts, START + timedelta(days=7), START)


def hash_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def try_once(state: ContractState, name: str, verdict: Verdict, score: float = 0.0) -> ContractState:
    return judged(received(state, f"att_{name}", hash_of(name), SOON), verdict, score, SOON)


def test_rejection_with_attempts_left_awaits_revision() -> None:
    state = try_once(fresh(), "a", Verdict.REJECTED)
    assert state.status is ContractStatus.AWAITING_REVISION
    assert state.verification.attempts_used == 1
    assert state.current_attempt is None


def test_what_is_no_verdict_counts_no_attempt() -> None:
    state = received(fresh(), "att_a", hash_of("a"), SOON)
    with pytest.raises(Refused) as refused:
        judged(state, Verdict.INDETERMINATE, 0.0, SOON)
    assert refused.value.code == "not_a_verdict"


def test_no_output_is_found_invalid_where_none_is_looked_at() -> None:
    for state in (fresh(), try_once(fresh(), "a", Verdict.REJECTED)):
        with pytest.raises(Refused) as refused:
            found_invalid(state, SOON)
        assert refused.value.code == "nothing_under_verification"


def test_pass_closes_as_passed() -> None:
    state = try_once(fresh(), "a", Verdict.PASSED, 1.0)
    assert state.closing is ContractStatus.PASSED
    assert state.current_attempt == "att_a"


def test_last_rejection_closes_as_exhausted_on_the_best_candidate() -> None:
    state = fresh()
    for name, score in (("a", 0.2), ("b", 0.7), ("c", 0.5)):
        state = try_once(state, name, Verdict.REJECTED, score)
    assert state.closing is ContractStatus.EXHAUSTED
    assert state.current_attempt == "att_b"
    assert state.verification.attempts_used == 3


def test_of_equally_good_candidates_the_latest_counts() -> None:
    state = fresh(2)
    for name in ("a", "b"):
        state = try_once(state, name, Verdict.REJECTED, 0.5)
    assert state.current_attempt == "att_b"


def test_a_judged_candidate_is_known_and_so_is_the_one_under_way() -> None:
    state = try_once(fresh(), "a", Verdict.REJECTED)
    assert known_attempt(state, hash_of("a")) == "att_a"
    state = received(state, "att_b", hash_of("b"), SOON)
    assert known_attempt(state, hash_of("b")) == "att_b"
    assert known_attempt(state, hash_of("c")) is None


def test_a_second_candidate_is_refused_while_one_is_under_way() -> None:
    state = received(fresh(), "att_a", hash_of("a"), SOON)
    with pytest.raises(Refused) as refusal:
        received(state, "att_b", hash_of("b"), SOON)
    assert refusal.value.code == "candidate_under_way"
    assert refusal.value.retry


def test_a_system_error_costs_no_attempt_and_is_held_past_the_retries() -> None:
    state = received(fresh(), "att_a", hash_of("a"), SOON)
    for _ in range(5):
        state = failed_to_verify(state, 5, SOON)
        assert state.status is ContractStatus.VERIFYING
    state = failed_to_verify(state, 5, SOON)
    assert state.status is ContractStatus.HELD
    assert state.verification.attempts_used == 0
    assert state.verification.last_outcome is LastOutcome.SYSTEM_ERROR


def test_finalising_needs_something_judged() -> None:
    with pytest.raises(Refused, match="nothing to finalise"):
        finalising(fresh(), SOON)
    state = finalising(try_once(fresh(), "a", Verdict.REJECTED, 0.4), SOON)
    assert state.closing is ContractStatus.FINALISED
    assert state.current_attempt == "att_a"


def test_cancelling_is_for_before_the_first_candidate() -> None:
    assert cancelled(fresh(), SOON).status is ContractStatus.CANCELLED
    with pytest.raises(Refused):
        cancelled(try_once(fresh(), "a", Verdict.REJECTED), SOON)


def test_a_deadline_with_nothing_judged_ends_at_once() -> None:
    state = expiring(fresh(), LATER)
    assert state.status is ContractStatus.EXPIRED
    assert state.final


def test_a_timer_that_fires_at_the_very_deadline_expires_the_contract() -> None:
    state = fresh()
    assert expiring(state, state.deadline).status is ContractStatus.EXPIRED


def test_a_candidate_at_the_very_deadline_is_in_time() -> None:
    state = fresh()
    assert received(state, "att_a", hash_of("a"), state.deadline).status is ContractStatus.VERIFYING


def test_a_deadline_with_something_judged_closes_on_it() -> None:
    state = expiring(try_once(fresh(), "a", Verdict.REJECTED, 0.4), LATER)
    assert (state.closing, state.current_attempt) == (ContractStatus.EXPIRED, "att_a")


def test_a_candidate_received_in_time_and_rejected_late_expires() -> None:
    state = judged(received(fresh(), "att_a", hash_of("a"), SOON), Verdict.REJECTED, 0.1, LATER)
    assert state.closing is ContractStatus.EXPIRED


def test_the_last_candidate_rejected_late_expires_too() -> None:
    state = judged(received(fresh(1), "att_a", hash_of("a"), SOON), Verdict.REJECTED, 0.1, LATER)
    assert state.closing is ContractStatus.EXPIRED


def test_a_candidate_received_in_time_and_passed_late_passes() -> None:
    state = judged(received(fresh(), "att_a", hash_of("a"), SOON), Verdict.PASSED, 1.0, LATER)
    assert state.closing is ContractStatus.PASSED


def test_a_candidate_after_the_deadline_is_refused() -> None:
    with pytest.raises(Refused) as refusal:
        received(fresh(), "att_a", hash_of("a"), LATER)
    assert refusal.value.code == "deadline_passed"


def test_spans_in_which_the_agent_worked_are_summed() -> None:
    state = received(fresh(), "att_a", hash_of("a"), START + timedelta(seconds=10))
    state = judged(state, Verdict.REJECTED, 0.0, START + timedelta(seconds=15))
    state = received(state, "att_b", hash_of("b"), START + timedelta(seconds=18))
    assert state.agent_ms == pytest.approx(13_000)


def test_a_retried_candidate_is_counted_once() -> None:
    state = try_once(fresh(), "a", Verdict.PASSED, 1.0)
    state = retried(state, "att_again", hash_of("a"), SOON)
    state = judged(state, Verdict.PASSED, 1.0, SOON)
    assert state.verification.attempts_used == 1
    assert known_attempt(state, hash_of("a")) == "att_again"


def found_invalid_once(state: ContractState, name: str) -> ContractState:
    return found_invalid(received(state, f"att_{name}", hash_of(name), SOON), SOON)


def test_an_invalid_output_costs_nothing_and_leaves_the_contract_where_it_was() -> None:
    state = found_invalid_once(fresh(), "a")
    assert (state.status, state.verification) == (ContractStatus.AWARDED, fresh().verification)
    assert (state.current_attempt, state.waiting_since) == (None, SOON)
    later = found_invalid_once(try_once(state, "b", Verdict.REJECTED), "c")
    assert later.status is ContractStatus.AWAITING_REVISION
    assert later.verification.attempts_used == 1


def test_an_invalid_output_is_known_until_the_next_one() -> None:
    state = found_invalid_once(fresh(), "a")
    assert known_attempt(state, hash_of("a")) == "att_a"
    state = found_invalid_once(state, "b")
    assert (known_attempt(state, hash_of("a")), known_attempt(state, hash_of("b"))) == (None, "att_b")


def test_an_invalid_output_past_the_deadline_expires_and_rests_on_what_was_judged() -> None:
    state = received(try_once(fresh(), "a", Verdict.REJECTED, 0.4), "att_b", hash_of("b"), SOON)
    state = found_invalid(state, LATER)
    assert (state.closing, state.current_attempt) == (ContractStatus.EXPIRED, "att_a")
    assert found_invalid(received(fresh(), "att_a", hash_of("a"), SOON), LATER).status is ContractStatus.EXPIRED


def test_a_fatal_rejection_closes_as_failed_with_attempts_left_and_is_counted() -> None:
    state = judged(received(fresh(), "att_a", hash_of("a"), SOON), Verdict.REJECTED, 0.1, SOON, fatal=True)
    assert (state.closing, state.current_attempt) == (ContractStatus.FAILED, "att_a")
    assert state.verification.attempts_used == 1


@pytest.mark.parametrize(
    "change", [lambda state: judged(state, Verdict.PASSED, 1, SOON), lambda state: found_invalid(state, SOON)]
)
def test_nothing_is_said_of_a_candidate_that_is_not_there(change: Callable[[ContractState], ContractState]) -> None:
    with pytest.raises(Refused) as refusal:
        change(fresh())
    assert refusal.value.code == "nothing_under_verification"


class Contracts(RuleBasedStateMachine):
    """Any order of candidates, verdicts, failures, deadlines and requests."""

    def __init__(self) -> None:
        super().__init__()
        self.state = fresh()
        self.now = START
        self.used = 0
        self.finals = 0

    def apply(self, change: ContractState) -> None:
        assert change.state_version > self.state.state_version
        self.state = change

    @rule(seconds=st.integers(0, 400_000))
    def time_passes(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @rule(name=st.sampled_from("abcdefgh"))
    def candidate_comes(self, name: str) -> None:
        if known_attempt(self.state, hash_of(name)):
            return
        try:
            self.apply(received(self.state, f"att_{name}", hash_of(name), self.now))
        except Refused:
            assert self.state.busy or self.state.final or self.now > self.state.deadline

    @precondition(lambda self: self.state.status is ContractStatus.VERIFYING and self.state.closing is None)
    @rule(passed=st.booleans(), score=st.floats(0, 1), fatal=st.booleans())
    def verdict_comes(self, passed: bool, score: float, fatal: bool) -> None:
        verdict = Verdict.PASSED if passed else Verdict.REJECTED
        self.apply(judged(self.state, verdict, score, self.now, fatal=fatal and not passed))
        if fatal and not passed:
            assert self.state.closing is ContractStatus.FAILED

    @precondition(lambda self: self.state.status is ContractStatus.VERIFYING and self.state.closing is None)
    @rule()
    def verifier_finds_the_output_invalid(self) -> None:
        before = self.state
        self.apply(found_invalid(self.state, self.now))
        assert self.state.verification.judged == before.verification.judged
        assert known_attempt(self.state, before.current_hash or "") is not None
        self.finals += self.state.final

    @precondition(lambda self: self.state.status is ContractStatus.VERIFYING and self.state.closing is None)
    @rule()
    def verifier_breaks_down(self) -> None:
        self.apply(failed_to_verify(self.state, 2, self.now))

    @precondition(lambda self: self.state.closing is not None)
    @rule()
    def governance_allows(self) -> None:
        assert self.state.closing
        self.finals += 1
        self.apply(ended(self.state, self.state.closing, self.now))

    @precondition(lambda self: self.state.status is ContractStatus.HELD)
    @rule()
    def operator_retries(self) -> None:
        assert self.state.current_hash
        self.apply(retried(self.state, "att_retry", self.state.current_hash, self.now))

    @rule(change=st.sampled_from([finalising, cancelled, expiring]))
    def somebody_closes(self, change: object) -> None:
        try:
            self.apply(change(self.state, self.now))  # type: ignore[operator]
        except Refused:
            return
        self.finals += self.state.final

    @invariant()
    def attempts_never_decrease_and_stay_within_the_budget(self) -> None:
        used = self.state.verification.attempts_used
        assert self.used <= used <= self.state.verification.max_attempts
        assert used == len(self.state.verification.judged)
        self.used = used

    @invariant()
    def there_is_one_final_verdict(self) -> None:
        assert self.finals == int(self.state.final)


TestContracts = Contracts.TestCase
TestContracts.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
