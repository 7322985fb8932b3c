"""A contract whose parties act concurrently: their answers and the final state."""

import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx

from aex_models.contract import FINAL_STATUSES
from tests.e2e.jobs import GOOD, POOR, amounts, candidate, contract, deliver, eventually, until_settled
from tests.e2e.live import Live
from tests.e2e.parties import Parties, parties_of
from tests.e2e.stores import transactions_of
from tests.e2e.stories import contract_events

Action = Callable[[], httpx.Response]
_AT_REST = {"awarded", "awaiting_revision", *(each.value for each in FINAL_STATUSES)}
_FINAL = {each.value for each in FINAL_STATUSES}
_REFUSALS = {"candidate_under_way", "contract_closed", "nothing_judged", "candidate_received"}


def at_once(actions: Sequence[Action]) -> list[httpx.Response]:
    """The answers in the order of the actions, which all begin at the same moment."""
    together = threading.Barrier(len(actions))

    def act(action: Action) -> httpx.Response:
        together.wait()
        return action()

    with ThreadPoolExecutor(len(actions)) as pool:
        return list(pool.map(act, actions))


def check_refusals(answers: Sequence[httpx.Response]) -> None:
    """Check that each refusal has a reason, and a `Retry-After` where a retry may succeed."""
    for each in answers:
        if each.is_success:
            continue
        assert each.status_code == 409, f"{each.status_code} {each.text}"
        code = each.json()["code"]
        assert code in _REFUSALS
        assert (int(each.headers.get("Retry-After", 0)) > 0) == (code == "candidate_under_way")


@dataclass(frozen=True, slots=True)
class Race:
    """A contract with concurrent parties."""

    live: Live
    parties: Parties
    contract_id: str

    @classmethod
    def on(cls, live: Live, **work: Any) -> "Race":
        """A contract over a work that was just published."""
        parties = parties_of(live)
        return cls(live, parties, contract(parties, **work))

    def posting(self, text: str) -> Action:
        """The agent posts a candidate, and waits for nothing."""
        path = f"/v1/contracts/{self.contract_id}/outputs"
        return lambda: self.parties.agent.post("verification", path, candidate(text))

    def finalising(self) -> httpx.Response:
        """The agent settles early."""
        return self.parties.agent.post("verification", f"/v1/contracts/{self.contract_id}/finalize")

    def cancelling(self) -> httpx.Response:
        """The consumer takes the contract back."""
        return self.parties.consumer.post("verification", f"/v1/contracts/{self.contract_id}/cancel")

    def attempts(self) -> list[dict[str, Any]]:
        """Return the attempts, oldest first."""
        path = f"/v1/contracts/{self.contract_id}/attempts"
        return list(self.parties.operator.read("verification", path, limit=200)["items"])

    def at_rest(self) -> dict[str, Any]:
        """The contract, once the platform is done with it."""

        def look() -> dict[str, Any] | None:
            seen = dict(self.parties.operator.read("verification", f"/v1/contracts/{self.contract_id}"))
            return seen if seen["status"] in _AT_REST else None

        return eventually(look, what=f"{self.contract_id} at rest")

    def check_attempts(self, answers: Sequence[httpx.Response]) -> None:
        """Each candidate that was taken in is one attempt; each was judged on its own, and all counted."""
        seen, attempts = self.at_rest(), self.attempts()
        accepted = {each.json()["attempt_id"] for each in answers if each.is_success}
        assert {each["attempt_id"] for each in attempts} == accepted
        assert all(each["counted"] for each in attempts)
        assert seen["attempts_used"] == len(attempts) <= seen["max_attempts"]
        # Two at once would leave one of them uncounted: its verdict would find the other in its place. When they were
        # received says nothing: a request may have waited for its turn at the store.
        assert len({each["judged_at"] for each in attempts}) == len(attempts)

    def check_end(self) -> str:
        """Check that every record agrees with the final status; return the status."""
        status = str(self.at_rest()["status"])
        events = contract_events(self.live, self.contract_id)
        assert [each.seq for each in events] == list(range(1, len(events) + 1))
        final = [each for each in events if each.type.value != "verification_rejected"]
        outcome = self.parties.consumer.get("verification", f"/v1/outcomes/{self.contract_id}")
        if status not in _FINAL:
            assert (final, outcome.status_code) == ([], 404)
            return status
        assert [each.type.value for each in final] == [_EVENTS.get(status, status)]
        assert final == events[-1:]
        if status == "cancelled":
            assert (outcome.status_code, len(events), self.attempts()) == (404, 1, [])
            assert transactions_of(self.live, self.contract_id) == []
            return status
        record = outcome.raise_for_status().json()
        assert record["final_status"] == status
        settled = until_settled(self.parties.finance, self.contract_id)
        assert amounts(settled["cost"]) == amounts(record["billing_impact"])
        assert len(transactions_of(self.live, self.contract_id)) == 1
        return status


_EVENTS = {"passed": "verification_passed", "exhausted": "verification_exhausted"}


def race_to_an_end(live: Live, seed: int) -> str:
    """Post, finalise and cancel concurrently, as the seed chooses; return the final status."""
    dice = random.Random(seed)
    race = Race.on(live)
    if dice.random() < 0.5:
        deliver(race.parties, race.contract_id, POOR)
    posts = [race.posting(f"{dice.choice([GOOD, POOR])} {location}") for location in range(dice.randint(1, 4))]
    others = dice.choices([race.finalising, race.cancelling], k=dice.randint(1, 4))
    actions = [_after(dice.random() * 0.05, each) for each in [*posts, *others]]
    answers = at_once(actions)
    check_refusals(answers)
    status = race.check_end()
    accepted = answers[: len(posts)]
    finalised, cancelled = (
        [answer for answer, act in zip(answers[len(posts) :], others, strict=True) if act == kind and answer.is_success]
        for kind in (race.finalising, race.cancelling)
    )
    assert len(finalised) + len(cancelled) <= 1
    assert bool(finalised) == (status == "finalised")
    assert bool(cancelled) == (status == "cancelled")
    assert not (cancelled and any(each.is_success for each in accepted))
    seen = race.at_rest()
    assert seen["attempts_used"] == len(race.attempts()) <= seen["max_attempts"]
    return status


def _after(pause_s: float, action: Action) -> Action:
    def act() -> httpx.Response:
        time.sleep(pause_s)
        return action()

    return act
