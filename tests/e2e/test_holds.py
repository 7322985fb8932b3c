"""A suspected outcome is final only once an operator has decided."""

import pytest

from tests.e2e.holds import decide, decided, waiting_hold
from tests.e2e.jobs import GOOD, amounts, contract, deliver, until_settled, until_status
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
    visible = parties.agent.read("verification", f"/v1/contracts/{contract_id}/attempts/{attempt['attempt_id']}")
    assert (visible["status"], visible["verdict"]) == ("held", None)
    return contract_id


def test_a_released_hold_settles_in_full(colleagues: Parties) -> None:
    contract_id = held_contract(colleagues)
    hold = waiting_hold(colleagues.operator, contract_id)
    assert hold["cause"] == "fraud_suspected"
    assert [flag["rule"] for flag in hold["flags"]] == ["self_dealing"]
    assert colleagues.finance.get("settlement", f"/v1/settlements/{contract_id}").status_code == 404
    decided(colleagues.operator, hold, "release")
    until_status(colleagues.consumer, contract_id, "passed")
    assert amounts(until_settled(colleagues.finance, contract_id)["cost"]) == ("0.40", "0.45", "0.00", "0.85")
    outcome = colleagues.operator.read("verification", f"/v1/outcomes/{contract_id}")
    assert outcome["verification_result"]["governance"]["decided_by"] == "operator"
    assert outcome["verification_result"]["governance_flags"] == ["self_dealing"]


def test_a_rejected_hold_fails_the_contract_and_costs_nothing(colleagues: Parties) -> None:
    contract_id = held_contract(colleagues)
    decided(colleagues.operator, waiting_hold(colleagues.operator, contract_id), "reject")
    until_status(colleagues.consumer, contract_id, "failed")
    assert amounts(until_settled(colleagues.finance, contract_id)["cost"]) == ("0.00", "0.00", "0.00", "0.00")


def test_retried_hold_is_verified_uncounted_and_held_a_second_time(colleagues: Parties) -> None:
    contract_id = held_contract(colleagues)
    first = waiting_hold(colleagues.operator, contract_id)
    decided(colleagues.operator, first, "retry")
    second = waiting_hold(colleagues.operator, contract_id)
    assert second["attempt_id"] != first["attempt_id"]
    assert colleagues.operator.read("verification", f"/v1/contracts/{contract_id}")["attempts_used"] == 1
    decided(colleagues.operator, second, "release")
    assert until_status(colleagues.consumer, contract_id, "passed")["attempts_used"] == 1
    assert amounts(until_settled(colleagues.finance, contract_id)["cost"]) == ("0.40", "0.45", "0.00", "0.85")


def test_the_first_decision_stands_and_nothing_moves_while_held(colleagues: Parties) -> None:
    contract_id = held_contract(colleagues)
    for caller, action in ((colleagues.agent, "finalize"), (colleagues.consumer, "cancel")):
        answer = caller.post("verification", f"/v1/contracts/{contract_id}/{action}")
        assert (answer.status_code, answer.json()["code"]) == (409, "candidate_under_way")
        assert int(answer.headers["Retry-After"]) > 0
    hold = waiting_hold(colleagues.operator, contract_id)
    on_record = decided(colleagues.operator, hold, "release")
    assert (on_record["decided_by"], on_record["reason"]) == (colleagues.operator.id, "looked into it")
    second = decide(colleagues.operator, hold["hold_id"], "reject", "changed my mind")
    assert (second.status_code, second.json()["code"]) == (409, "already_decided")
    assert until_settled(colleagues.finance, contract_id)["cost"]["total"] == "0.85"
