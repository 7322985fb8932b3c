"""Stories of contracts whose parties repeat unanswered requests, each with its expected end."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aex_models.contract_events import ContractEvent
from aex_runtime.service import Backends
from aex_verification.repository import EVENTS
from tests.e2e.jobs import GOOD, POOR, amounts, candidate, contract, eventually, until_settled, until_status
from tests.e2e.live import Live
from tests.e2e.parties import Caller, Parties, PatientCaller, fresh, parties_of, until_answered
from tests.e2e.stores import transactions_of, with_backends

WORSE = "Nothing at all"
"""Rejected, as `POOR` is."""
Amounts = tuple[str, str, str, str]
IN_FULL: Amounts = ("0.40", "0.45", "0.00", "0.85")
FOR_REJECTED: Amounts = ("0.40", "0.00", "0.06", "0.34")


@dataclass(frozen=True, slots=True)
class Story:
    """Actions of the parties, and the expected final state."""

    live_through: Callable[[Parties, str], None]
    status: str
    events: tuple[str, ...]
    counted: tuple[bool, ...]
    """`counted` of each attempt, oldest first."""
    cost: Amounts
    work: dict[str, Any] = field(default_factory=dict)
    """Fields of the work that differ from the common ones."""
    one_house: bool = False
    """The consumer and the agent are of one organisation: whatever closes is held."""

    def begin(self, live: Live) -> tuple[Parties, str]:
        """The parties, and their contract."""
        org = fresh("org") if self.one_house else None
        parties = parties_of(live, org, org, kind=PatientCaller)
        return parties, contract(parties, **self.work)

    def check(self, live: Live, parties: Parties, contract_id: str) -> None:
        """Wait for the end; every attempt is counted once, there is one outcome and one settlement."""
        settled = until_settled(parties.finance, contract_id)
        assert amounts(settled["cost"]) == self.cost
        seen = parties.operator.read("verification", f"/v1/contracts/{contract_id}")
        assert (seen["status"], seen["attempts_used"]) == (self.status, sum(self.counted))
        attempts = parties.operator.read("verification", f"/v1/contracts/{contract_id}/attempts")["items"]
        assert [(each["status"], each["counted"]) for each in attempts] == [
            ("judged", counted) for counted in self.counted
        ]
        outcome = parties.operator.read("verification", f"/v1/outcomes/{contract_id}")
        assert (outcome["final_status"], outcome["attempts_used"]) == (self.status, sum(self.counted))
        assert len(transactions_of(live, contract_id)) == 1
        events = contract_events(live, contract_id)
        assert [each.type.value for each in events] == list(self.events)
        assert [each.seq for each in events] == list(range(1, len(events) + 1))
        assert events[-1].attempts_used == sum(self.counted)


def contract_events(live: Live, contract_id: str) -> list[ContractEvent]:
    """The numbered events of a contract, as they are stored."""

    async def read(backends: Backends) -> list[ContractEvent]:
        return [each.record for each in await EVENTS.find(backends.store, {"contract_id": contract_id}, "seq")]

    return with_backends(live, "verification", read)


def insist(agent: Caller, contract_id: str, text: str) -> dict[str, Any]:
    """Post a candidate until it is answered, without a key, as an agent without memory does.

    Returns the attempt once it is judged or held. The same candidate is the same attempt.
    """
    path = f"/v1/contracts/{contract_id}/outputs"

    def post() -> dict[str, Any]:
        answer = until_answered(lambda: Caller.post(agent, "verification", path, candidate(text)))
        assert answer.is_success, answer.text
        return dict(answer.json())

    attempt_id = post()["attempt_id"]

    def look() -> dict[str, Any] | None:
        seen = agent.read("verification", f"/v1/contracts/{contract_id}/attempts/{attempt_id}")
        return dict(seen) if seen["status"] in {"judged", "held"} else None

    seen = eventually(look, what=f"the verdict on {attempt_id}")
    repeated = post()
    assert (repeated["attempt_id"], repeated["replay"]) == (attempt_id, True)
    return seen


def _revise(parties: Parties, contract_id: str) -> None:
    assert insist(parties.agent, contract_id, POOR)["verdict"] == "rejected"
    assert insist(parties.agent, contract_id, GOOD)["verdict"] == "passed"


def _use_all_up(parties: Parties, contract_id: str) -> None:
    assert insist(parties.agent, contract_id, POOR)["verdict"] == "rejected"
    assert insist(parties.agent, contract_id, WORSE)["verdict"] == "rejected"


def _finalise(parties: Parties, contract_id: str) -> None:
    assert insist(parties.agent, contract_id, POOR)["verdict"] == "rejected"
    answer = parties.agent.post("verification", f"/v1/contracts/{contract_id}/finalize")
    assert answer.status_code == 200, answer.text


def _retry_hold(parties: Parties, contract_id: str) -> None:
    first = insist(parties.agent, contract_id, GOOD)["attempt_id"]
    _decide(parties, contract_id, first, "retry")
    until_status(parties.agent, contract_id, "verifying", "held")
    repeated = eventually(lambda: _held_attempt(parties, contract_id, other_than=first), what="a second hold")
    _decide(parties, contract_id, repeated, "release")
    until_status(parties.agent, contract_id, "passed")


def _held_attempt(parties: Parties, contract_id: str, other_than: str) -> str | None:
    seen = parties.operator.read("verification", f"/v1/contracts/{contract_id}")
    current = seen["current_attempt"] if seen["status"] == "held" else None
    return None if current == other_than else current


def _decide(parties: Parties, contract_id: str, attempt_id: str, decision: str) -> None:
    def look() -> str | None:
        held = parties.operator.read("governance", "/v1/holds", status="waiting", limit=200)["items"]
        expected = [each for each in held if each["contract_id"] == contract_id and each["attempt_id"] == attempt_id]
        return str(expected[0]["hold_id"]) if expected else None

    hold_id = eventually(look, what=f"the hold of {attempt_id}")
    body = {"decision": decision, "reason": "looked into it"}
    answer = parties.operator.post("governance", f"/v1/holds/{hold_id}/decision", body)
    assert answer.status_code == 200, answer.text


REVISED = Story(_revise, "passed", ("verification_rejected", "verification_passed"), (True, True), IN_FULL)
USED_UP = Story(
    _use_all_up,
    "exhausted",
    ("verification_rejected", "verification_rejected", "verification_exhausted"),
    (True, True),
    FOR_REJECTED,
    work={"verification": {"max_attempts": 2}},
)
FINALISED = Story(_finalise, "finalised", ("verification_rejected", "finalised"), (True,), FOR_REJECTED)
RETRIED_HOLD = Story(
    _retry_hold,
    "passed",
    ("held", "held", "verification_passed"),
    (True, False),
    IN_FULL,
    one_house=True,
)
