"""Whatever parties, operators, verifiers and the clock do: each attempt is counted once, and one end stands."""

import asyncio
import logging
from collections.abc import Awaitable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

import pytest
import structlog
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from aex_models.contract import AttemptStatus, Candidate, ContractStatus
from aex_models.contract_events import ContractEventType
from aex_models.events import Event, OutcomeReviewed
from aex_models.governance import Decision, Party
from aex_models.outcome import OutcomeRecord
from aex_outcomes.lifecycle.hashing import candidate_hash
from aex_outcomes.lifecycle.state import ContractState
from aex_outcomes.lifecycle.verifier import CheckedVerifier
from aex_runtime.errors import Conflict
from aex_runtime.store.buffer import Write
from aex_verification.handlers.admit import contract_row
from aex_verification.handlers.close import cancel_contract, finalise_contract
from aex_verification.handlers.read import outcome_of
from aex_verification.repository import ATTEMPTS, CANDIDATES, CONTRACTS, EVENTS, FINAL_RESULTS, OUTCOMES
from aex_verification.rules.records import AttemptRow, ContractRow
from tests.parts.verification import NO_KEY, EngineJudge, VerificationBench, event_of
from tests.parts.verifiers import VERIFIERS, VerifiersInHand
from tests.services.verification.flow import BOT, CONTRACT, contract_events, post
from tests.services.verification.written import TellingStore

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
T = TypeVar("T")
KEPT = {table.collection.name for table in (CONTRACTS, ATTEMPTS, CANDIDATES, EVENTS, FINAL_RESULTS, OUTCOMES)}
"""Collections of what is kept for good; timers and the outbox come and go."""
DEADLINE_S = 900
ROUNDS = 20
TEXTS = (
    "one",
    "two words",
    "one two three",
    "four words it is",
    "dull as it is",
    "hopeless from the start",
    "crash it will",
)
OUTPUTS = st.sampled_from([*({"text": text} for text in TEXTS), {"text": ["no", "text"]}, {"words": 3}])
"""Long enough or not, and what the verifier `summary` refuses, gives up on, crashes at, or cannot read."""
REFUSALS = {"candidate_under_way", "contract_closed", "nothing_judged", "candidate_received", "deadline_passed"}


class Contract(RuleBasedStateMachine):
    """One contract, and everybody who has to do with it."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.store = TellingStore()
        self.bench = VerificationBench(self.store)
        self.posted: list[Any] = []
        self.reviews: list[Event] = []
        self.before: ContractRow | None = None
        self.outcome: OutcomeRecord | None = None
        self.kept_at_end: list[Write] | None = None

    @initialize(
        max_attempts=st.integers(1, 4),
        verifier=st.sampled_from([None, "summary"]),
        one_house=st.booleans(),
        system_retries=st.integers(0, 2),
        history=st.lists(OUTPUTS, max_size=3),
    )
    def award(
        self, max_attempts: int, verifier: str | None, one_house: bool, system_retries: int, history: list[Any]
    ) -> None:
        policy = replace(self.bench.deps.policy, max_system_retries=system_retries)
        self.bench.rewire(replace(self.bench.deps, policy=policy))
        consumer = Party(id="bot" if one_house else "acme")  # who deals with himself is held
        verification = {"max_attempts": max_attempts, "verifier": verifier, "deadline_s": DEADLINE_S}
        awarded = self.run_async(self.bench.award(CONTRACT, consumer=consumer, verification=verification))
        self.consumer = consumer.id
        self.awarded = event_of("contract.awarded", CONTRACT, awarded)
        for output in history:  # so that few steps lead far
            self.post_and_have_it_judged(output)

    # what parties do

    @rule(output=OUTPUTS)
    def post(self, output: Any) -> None:
        known, before = self.knows(output), len(self.store.written)
        if not self.unless_refused(post(self.bench, output)):
            assert not known, "what is known is answered, whatever the state"
            return
        self.posted.append(output)
        assert not known or len(self.store.written) == before, "a replay changes nothing"

    @rule(output=OUTPUTS)
    def post_and_have_it_judged(self, output: Any) -> None:
        self.post(output)
        self.work()

    @precondition(lambda self: self.posted)
    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        self.post(data.draw(st.sampled_from(self.posted)))

    @rule()
    def finalise(self) -> None:
        self.unless_refused(finalise_contract(self.bench.deps, BOT.id, CONTRACT, NO_KEY))

    @rule()
    def cancel(self) -> None:
        if self.unless_refused(cancel_contract(self.bench.deps, self.consumer, CONTRACT, NO_KEY)):
            assert self.posted == []

    @precondition(lambda self: self.state().status is ContractStatus.HELD)
    @rule(decision=st.sampled_from([Decision.RETRY, *Decision]))
    def decide(self, decision: Decision) -> None:
        attempt_id = self.state().current_attempt or ""
        review = OutcomeReviewed(
            hold_id=f"hold_{attempt_id}",
            contract_id=CONTRACT,
            attempt_id=attempt_id,
            decision=decision,
            reason="looked at it",
            by="olga",
        )
        self.reviews.append(event_of("outcome.reviewed", CONTRACT, review))
        self.deliver(self.reviews[-1])

    # what the platform does

    @rule()
    def work(self) -> None:
        for job in self.bench.emitted("output.submitted")[-1:]:
            self.deliver(job)

    @rule(data=st.data())
    def deliver_again(self, data: st.DataObject) -> None:
        jobs = self.bench.emitted("output.submitted")
        self.deliver(data.draw(st.sampled_from([self.awarded, *jobs, *self.reviews])))

    @rule(seconds=st.sampled_from([1, 70, 300, DEADLINE_S]))
    def pass_time(self, seconds: int) -> None:
        self.run_async(self.bench.pass_time(timedelta(seconds=seconds)))

    @rule(times=st.integers(1, 3), engine=st.booleans())
    def break_down(self, times: int, engine: bool) -> None:
        breaking: EngineJudge | VerifiersInHand = self.bench.judge if engine else self.bench.verifiers
        breaking.failures = times

    @rule(down=st.booleans(), verifier=st.sampled_from(sorted(VERIFIERS)))
    def change(self, down: bool, verifier: str) -> None:
        self.bench.governance.down = lambda: down
        self.bench.verifiers.by_name["summary"] = CheckedVerifier.annotated(VERIFIERS[verifier])

    # what holds whatever happens

    @invariant()
    def attempts_are_counted_once_each(self) -> None:
        row, before = self.row(), self.before
        attempts, accounting = self.attempts(), row.state.verification
        counted = [each.candidate_hash for each in attempts if each.counted]
        assert len(counted) == len(set(counted)) == accounting.attempts_used <= accounting.max_attempts
        assert set(counted) == set(accounting.judged)
        if before is not None:
            assert accounting.attempts_used >= before.state.verification.attempts_used
            assert row == before or row.state.state_version > before.state.state_version
        self.before = row

    @invariant()
    def at_most_one_outcome_and_it_stands(self) -> None:
        row, outcome = self.row(), self.run_async(outcome_of(self.bench.deps, CONTRACT))
        assert self.outcome is None or outcome == self.outcome
        assert (outcome is not None) == (row.state.final and row.state.status is not ContractStatus.CANCELLED)
        if outcome is not None:
            assert outcome.final_status is row.state.status
            assert outcome.attempts_used == row.state.verification.attempts_used
        assert len(self.bench.emitted("outcome.verified")) == (outcome is not None)
        self.outcome = outcome

    @invariant()
    def parties_are_told_in_order_and_of_one_end(self) -> None:
        row, events = self.row(), self.run_async(contract_events(self.bench))
        assert [each.seq for each in events] == list(range(1, row.events + 1))
        on_the_way = {ContractEventType.VERIFICATION_REJECTED, ContractEventType.HELD}
        final = [each for each in events if each.type not in on_the_way]
        assert final == (events[-1:] if row.state.final else [])

    @invariant()
    def nothing_changes_after_the_end(self) -> None:
        kept = [each for each in self.store.written if each.collection.name in KEPT]
        assert self.kept_at_end is None or kept == self.kept_at_end
        self.kept_at_end = kept if self.row().state.final else None

    @invariant()
    def an_attempt_that_nobody_works_on_is_at_an_end(self) -> None:
        ends = {AttemptStatus.JUDGED, AttemptStatus.INVALID}
        left = [each for each in self.attempts() if each.status not in ends]
        current = self.state().current_attempt
        assert [each.attempt_id for each in left] in ([], [current])

    def teardown(self) -> None:
        try:
            self.come_to_rest()
        finally:
            self.runner.close()

    def come_to_rest(self) -> None:
        """The contract ends, and is then told everything once more."""
        self.bench.governance.down = lambda: False
        self.bench.judge.failures = self.bench.verifiers.failures = 0
        for _ in range(ROUNDS):
            if self.state().final:
                break
            self.tell_all()
            self.pass_time(DEADLINE_S + 1)
            if self.state().status is ContractStatus.HELD:
                self.decide(Decision.RELEASE)
        assert self.state().final, "the contract does not come to its end"
        self.nothing_changes_after_the_end()
        self.tell_all()
        self.pass_time(DEADLINE_S + 1)
        self.nothing_changes_after_the_end()
        self.at_most_one_outcome_and_it_stands()
        assert self.run_async(self.bench.timers()) == []

    # what the rules are made of

    def run_async(self, work: Awaitable[T]) -> T:
        return self.runner.run(_awaited(work))

    def row(self) -> ContractRow:
        return self.run_async(contract_row(self.bench.deps, CONTRACT))

    def state(self) -> ContractState:
        return self.row().state

    def attempts(self) -> list[AttemptRow]:
        found = self.run_async(ATTEMPTS.find(self.store, {"contract_id": CONTRACT}, "created_at", limit=200))
        return [each.record for each in found]

    def knows(self, output: Any) -> bool:
        """Whether the candidate was judged, or is at work."""
        counted = {each.candidate_hash for each in self.attempts() if each.counted}
        return candidate_hash(Candidate(output=output)) in counted | {self.state().current_hash}

    def deliver(self, event: Event) -> None:
        self.run_async(self.bench.handlers[event.type](event))

    def tell_all(self) -> None:
        """Every event comes, once more."""
        for event in (self.awarded, *self.bench.emitted("output.submitted"), *self.reviews):
            self.deliver(event)

    def unless_refused(self, work: Awaitable[object]) -> bool:
        refusal = self.run_async(refused(work))
        if refusal is None:
            return True
        assert refusal.code in REFUSALS
        assert (refusal.retry_after_s is not None) == (refusal.code == "candidate_under_way")
        return False


async def _awaited(work: Awaitable[T]) -> T:
    return await work


async def refused(work: Awaitable[object]) -> Conflict | None:
    """How the work was refused; None where it was done."""
    try:
        await work
    except Conflict as refusal:
        return refusal
    return None


@pytest.fixture(autouse=True)
def _only_alarms() -> Iterator[None]:
    """Thousands of steps, most of them worth a line elsewhere."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.configure(**before)


TestContract = Contract.TestCase
TestContract.settings = settings(
    max_examples=150, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
