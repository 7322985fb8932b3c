from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from aex_models.contract import CancelCause, ContractStatus
from aex_models.results import Verdict
from aex_outcomes.lifecycle.state import ContractState, LastOutcome
from aex_outcomes.lifecycle.transitions import (
    Refused,
    apply_verdict,
    cancel_unstarted,
    count_system_failure_or_hold,
    create_state,
    end_contract,
    expire_at_deadline,
    finalise_early,
    find_attempt_by_hash,
    receive_candidate,
    record_invalid_output,
    retry_held_candidate,
)
from tests.examples import examples

START = datetime(2026, 1, 1, tzinfo=UTC)
SOON = START + timedelta(minutes=1)
LATER = START + timedelta(days=8)


def fresh(max_attempts: int = 3) -> ContractState:
    return create_state("ctr_1", max_attempts, START + timedelta(days=7), START)


def hash_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def try_once(state: ContractState, name: str, verdict: Verdict, score: float = 0.0) -> ContractState:
    return apply_verdict(received(state, name), verdict, score, SOON)


def received(state: ContractState | None = None, name: str = "a") -> ContractState:
    return receive_candidate(state or fresh(), f"att_{name}", hash_of(name), SOON)


def rejected(state: ContractState | None = None, score: float = 0.0, at: datetime = SOON) -> ContractState:
    """Judge the candidate `a` as rejected at a time; it is received in time."""
    return apply_verdict(received(state), Verdict.REJECTED, score, at)


def test_rejection_with_attempts_left_awaits_revision() -> None:
    state = rejected()
    assert (state.status, state.current_attempt) == (ContractStatus.AWAITING_REVISION, None)
    assert state.verification.attempts_used == 1


def test_indeterminate_verification_counts_no_attempt() -> None:
    state = received()
    with pytest.raises(Refused) as refused:
        apply_verdict(state, Verdict.INDETERMINATE, 0.0, SOON)
    assert refused.value.code == "not_a_verdict"


@pytest.mark.parametrize("state", [fresh(), rejected()])
def test_verdict_needs_a_candidate(state: ContractState) -> None:
    with pytest.raises(Refused) as of_verdict:
        apply_verdict(state, Verdict.PASSED, 1, SOON)
    with pytest.raises(Refused) as of_invalid:
        record_invalid_output(state, SOON)
    assert of_verdict.value.code == of_invalid.value.code == "nothing_under_verification"


@pytest.mark.parametrize(
    ("scores", "chosen"), [((0.2, 0.7, 0.5), "att_b"), ((0.5, 0.5), "att_b")], ids=["the best", "of equals the latest"]
)
def test_last_rejection_closes_as_exhausted_on_the_best_candidate(scores: tuple[float, ...], chosen: str) -> None:
    state = fresh(len(scores))
    for name, score in zip("abc", scores, strict=False):
        state = try_once(state, name, Verdict.REJECTED, score)
    assert (state.closing, state.current_attempt) == (ContractStatus.EXHAUSTED, chosen)
    assert state.verification.attempts_used == len(scores)


def test_judged_and_current_candidates_are_known() -> None:
    state = received(rejected(), "b")
    assert [find_attempt_by_hash(state, hash_of(name)) for name in "abc"] == ["att_a", "att_b", None]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (
            lambda: receive_candidate(receive_candidate(fresh(), "a", hash_of("a"), SOON), "b", hash_of("b"), SOON),
            "candidate_under_way",
        ),
        (lambda: receive_candidate(fresh(), "att_a", hash_of("a"), LATER), "deadline_passed"),
        (lambda: finalise_early(fresh(), SOON), "nothing_judged"),
        (lambda: cancel_unstarted(rejected(), SOON), "candidate_received"),
        (lambda: cancel_unstarted(rejected(), SOON, CancelCause.DECLINED), "candidate_received"),
        (lambda: expire_at_deadline(fresh(), SOON), "before_deadline"),
        (lambda: cancel_unstarted(cancel_unstarted(fresh(), SOON), SOON), "contract_closed"),
    ],
)
def test_transition_is_refused_with_its_code(change: Callable[[], ContractState], code: str) -> None:
    with pytest.raises(Refused) as refused:
        change()
    assert (refused.value.code, refused.value.retry) == (code, code == "candidate_under_way")


def test_system_error_costs_no_attempt_and_is_held_past_the_retries() -> None:
    state = received()
    for _ in range(5):
        state = count_system_failure_or_hold(state, 5, SOON)
        assert state.status is ContractStatus.VERIFYING
    state = count_system_failure_or_hold(state, 5, SOON)
    assert (state.status, state.verification.attempts_used) == (ContractStatus.HELD, 0)
    assert state.verification.last_outcome is LastOutcome.SYSTEM_ERROR


@pytest.mark.parametrize(
    ("state", "closing"),
    [
        (try_once(fresh(), "a", Verdict.PASSED, 1.0), ContractStatus.PASSED),
        (finalise_early(rejected(), SOON), ContractStatus.FINALISED),
        (expire_at_deadline(rejected(), LATER), ContractStatus.EXPIRED),
        (rejected(at=LATER), ContractStatus.EXPIRED),
        (rejected(fresh(1), at=LATER), ContractStatus.EXPIRED),
        (apply_verdict(received(), Verdict.PASSED, 1.0, LATER), ContractStatus.PASSED),
        (record_invalid_output(received(rejected(), "b"), LATER), ContractStatus.EXPIRED),
        (apply_verdict(received(), Verdict.REJECTED, 0.1, SOON, fatal=True),
         ContractStatus.FAILED),
    ],
    ids=["pass", "finalised", "deadline", "rejected late", "exhausted late", "passed late", "invalid late", "fatal"],
)  # fmt: skip
def test_contract_closes_on_its_judged_candidate(state: ContractState, closing: ContractStatus) -> None:
    assert (state.closing, state.current_attempt) == (closing, "att_a")
    assert state.verification.attempts_used == 1


@pytest.mark.parametrize(
    ("state", "status"),
    [
        (cancel_unstarted(fresh(), SOON), ContractStatus.CANCELLED),
        (expire_at_deadline(fresh(), LATER), ContractStatus.EXPIRED),
        (expire_at_deadline(fresh(), fresh().deadline), ContractStatus.EXPIRED),
        (record_invalid_output(received(), LATER), ContractStatus.EXPIRED),
    ],
)
def test_contract_without_a_judged_candidate_ends_at_once(state: ContractState, status: ContractStatus) -> None:
    assert (state.status, state.is_final) == (status, True)


def test_candidate_at_the_deadline_is_in_time() -> None:
    state = fresh()
    assert receive_candidate(state, "att_a", hash_of("a"), state.deadline).status is ContractStatus.VERIFYING


def test_agent_time_is_the_sum_of_its_spans() -> None:
    state = receive_candidate(fresh(), "att_a", hash_of("a"), START + timedelta(seconds=10))
    state = apply_verdict(state, Verdict.REJECTED, 0.0, START + timedelta(seconds=15))
    state = receive_candidate(state, "att_b", hash_of("b"), START + timedelta(seconds=18))
    assert state.agent_ms == pytest.approx(13_000)


def test_retried_candidate_is_counted_once() -> None:
    state = retry_held_candidate(try_once(fresh(), "a", Verdict.PASSED, 1.0), "att_again", hash_of("a"), SOON)
    state = apply_verdict(state, Verdict.PASSED, 1.0, SOON)
    assert state.verification.attempts_used == 1
    assert find_attempt_by_hash(state, hash_of("a")) == "att_again"


def found_invalid_once(state: ContractState, name: str) -> ContractState:
    return record_invalid_output(receive_candidate(state, f"att_{name}", hash_of(name), SOON), SOON)


def test_invalid_output_leaves_the_contract_in_its_status() -> None:
    state = found_invalid_once(fresh(), "a")
    assert (state.status, state.verification) == (ContractStatus.AWARDED, fresh().verification)
    assert (state.current_attempt, state.waiting_since) == (None, SOON)
    later = found_invalid_once(rejected(), "c")
    assert (later.status, later.verification.attempts_used) == (ContractStatus.AWAITING_REVISION, 1)


def test_invalid_output_is_known_until_the_next_one() -> None:
    state = found_invalid_once(fresh(), "a")
    assert find_attempt_by_hash(state, hash_of("a")) == "att_a"
    state = found_invalid_once(state, "b")
    assert [find_attempt_by_hash(state, hash_of(name)) for name in "ab"] == [None, "att_b"]


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
        if find_attempt_by_hash(self.state, hash_of(name)):
            return
        try:
            self.apply(receive_candidate(self.state, f"att_{name}", hash_of(name), self.now))
        except Refused:
            assert self.state.is_busy or self.state.is_final or self.now > self.state.deadline

    @precondition(lambda self: self.state.status is ContractStatus.VERIFYING and self.state.closing is None)
    @rule(passed=st.booleans(), score=st.floats(0, 1), fatal=st.booleans())
    def verdict_comes(self, passed: bool, score: float, fatal: bool) -> None:
        verdict = Verdict.PASSED if passed else Verdict.REJECTED
        self.apply(apply_verdict(self.state, verdict, score, self.now, fatal=fatal and not passed))
        if fatal and not passed:
            assert self.state.closing is ContractStatus.FAILED

    @precondition(lambda self: self.state.status is ContractStatus.VERIFYING and self.state.closing is None)
    @rule()
    def verifier_finds_the_output_invalid(self) -> None:
        before = self.state
        self.apply(record_invalid_output(self.state, self.now))
        assert self.state.verification.judged == before.verification.judged
        assert find_attempt_by_hash(self.state, before.current_hash or "") is not None
        self.finals += self.state.is_final

    @precondition(lambda self: self.state.status is ContractStatus.VERIFYING and self.state.closing is None)
    @rule()
    def verifier_breaks_down(self) -> None:
        self.apply(count_system_failure_or_hold(self.state, 2, self.now))

    @precondition(lambda self: self.state.closing is not None)
    @rule()
    def governance_allows(self) -> None:
        assert self.state.closing
        self.finals += 1
        self.apply(end_contract(self.state, self.state.closing, self.now))

    @precondition(lambda self: self.state.status is ContractStatus.HELD)
    @rule()
    def operator_retries(self) -> None:
        assert self.state.current_hash
        self.apply(retry_held_candidate(self.state, "att_retry", self.state.current_hash, self.now))

    @rule(change=st.sampled_from([finalise_early, cancel_unstarted, expire_at_deadline]))
    def somebody_closes(self, change: object) -> None:
        try:
            self.apply(change(self.state, self.now))  # type: ignore[operator]
        except Refused:
            return
        self.finals += self.state.is_final

    @invariant()
    def attempts_never_decrease_and_stay_within_the_budget(self) -> None:
        used = self.state.verification.attempts_used
        assert self.used <= used <= self.state.verification.max_attempts
        assert used == len(self.state.verification.judged)
        self.used = used

    @invariant()
    def there_is_one_final_verdict(self) -> None:
        assert self.finals == int(self.state.is_final)


TestContracts = Contracts.TestCase
TestContracts.settings = settings(max_examples=examples(60), stateful_step_count=30, deadline=None)
