"""A suspected outcome is final only once an operator has decided."""

from typing import Any

import pytest

from tests.e2e.jobs import GOOD, amounts, contract, deliver, eventually, until_settled, until_status
from tests.e2e.live import Live
from tests.e2e.parties import Parties, fresh, parties_of

pytestmark = pytest.mark.e2e


@pytest.fixture
def colleagues(live: Live) -> Parties:
    """A consumer and an agent of one organisation: self-dealing."""
    org = fresh("org")
    return parties_of(live, consumer_org=org, agent_org=org)


def held_contract(parties: Parties) -> str:
    contract_id = contract(parties)
    attempt = deliver(parties, contract_id, GOOD, wait_s=0)
    until_status(parties.agent, contract_id, "held")
    shown = parties.agent.read("verification", f"/v1/contracts/{contract_id}/attempts/{attempt['attempt_id']}")
    assert (shown["status"], shown["verdict"]) == ("held", None)
    return contract_id


def hold_of(parties: Parties, contract_id: str) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        found = parties.operator.read("governance", "/v1/holds", status="waiting", limit=200)["items"]
        return next((each for each in found if each["contract_id"] == contract_id), None)

    return eventually(look, what=f"the hold of {contract_id}")


def decide(parties: Parties, hold: dict[str, Any], decision: str) -> None:
    body = {"decision": decision, "reason": "looked into it"}
    answer = parties.operator.post("governance", f"/v1/holds/{hold['hold_id']}/decision", body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["decided_by"] == parties.operator.id


def test_a_released_hold_settles_in_full(colleagues: Parties) -> None:
    contract_id = held_contract(colleagues)
    hold = hold_of(colleagues, contract_id)
    assert hold["cause"] == "fraud_suspected"
    assert [flag["rule"] for flag in hold["flags"]] == ["self_dealing"]
    assert colleagues.finance.get("settlement", f"/v1/settlements/{contract_id}").status_code == 404
    decide(colleagues, hold, "release")
    until_status(colleagues.consumer, contract_id, "passed")
    assert amounts(until_settled(colleagues.finance, contract_id)["cost"]) == ("0.40", "0.45", "0.00", "0.85")
    outcome = colleagues.operator.read("verification", f"/v1/outcomes/{contract_id}")
    assert outcome["verification_result"]["governance"]["decided_by"] == "operator"
    assert outcome["verification_result"]["governance_flags"] == ["self_dealing"]


def test_a_rejected_hold_fails_the_contract_and_costs_nothing(colleagues: Parties) -> None:
    contract_id = held_contract(colleagues)
    decide(colleagues, hold_of(colleagues, contract_id), "reject")
    until_status(colleagues.consumer, contract_id, "failed")
    assert amounts(until_settled(colleagues.finance, contract_id)["cost"]) == ("0.00", "0.00", "0.00", "0.00")


def test_a_retried_hold_is_verified_anew_uncounted_and_held_again(colleagues: Parties) -> None:
    contract_id = held_contract(colleagues)
    first = hold_of(colleagues, contract_id)
    decide(colleagues, first, "retry")
    second = hold_of(colleagues, contract_id)
    assert second["attempt_id"] != first["attempt_id"]
    assert colleagues.operator.read("verification", f"/v1/contracts/{contract_id}")["attempts_used"] == 1
    decide(colleagues, second, "release")
    assert until_status(colleagues.consumer, contract_id, "passed")["attempts_used"] == 1
    assert amounts(until_settled(colleagues.finance, contract_id)["cost"]) == ("0.40", "0.45", "0.00", "0.85")


def test_the_first_decision_stands_and_nothing_moves_while_held(colleagues: Parties) -> None:
    contract_id = held_contract(colleagues)
    for caller, action in ((colleagues.agent, "finalize"), (colleagues.consumer, "cancel")):
        answer = caller.post("verification", f"/v1/contracts/{contract_id}/{action}")
        assert (answer.status_code, answer.json()["code"]) == (409, "candidate_under_way")
        assert int(answer.headers["Retry-After"]) > 0
    hold = hold_of(colleagues, contract_id)
    decide(colleagues, hold, "release")
    body = {"decision": "reject", "reason": "changed my mind"}
    second = colleagues.operator.post("governance", f"/v1/holds/{hold['hold_id']}/decision", body)
    assert (second.status_code, second.json()["code"]) == (409, "already_decided")
    assert until_settled(colleagues.finance, contract_id)["cost"]["total"] == "0.85"
