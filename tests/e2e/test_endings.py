"""Ends of contracts without a pass: finalised, cancelled, expired."""

import pytest

from tests.e2e.jobs import (
    GOOD,
    POOR,
    amounts,
    award,
    contract,
    deliver,
    publish,
    until_settled,
    until_status,
    until_work,
)
from tests.e2e.parties import Parties

pytestmark = pytest.mark.e2e


def test_an_agent_that_finalises_settles_with_its_best_judged_candidate(parties: Parties) -> None:
    contract_id = contract(parties)
    path = f"/v1/contracts/{contract_id}/finalize"
    early = parties.agent.post("verification", path)
    assert (early.status_code, early.json()["code"]) == (409, "nothing_judged")
    assert deliver(parties, contract_id, POOR)["verdict"] == "rejected"
    better = deliver(parties, contract_id, "Nothing was decided by anyone there")  # long enough, and still not alike
    assert parties.agent.post("verification", path).status_code == 200
    until_status(parties.agent, contract_id, "finalised")
    outcome = parties.consumer.read("verification", f"/v1/outcomes/{contract_id}")
    assert outcome["final_status"] == "finalised"
    assert outcome["verification_result"]["success"] is False
    assert outcome["verification_result"]["candidate_hash"] == better["candidate_hash"]
    assert amounts(until_settled(parties.finance, contract_id)["cost"]) == ("0.40", "0.00", "0.05", "0.35")
    late = parties.agent.post("verification", f"/v1/contracts/{contract_id}/outputs", {"output": {"text": GOOD}})
    assert (late.status_code, late.json()["code"]) == (409, "contract_closed")


def test_a_contract_cancelled_before_the_first_candidate_leaves_no_outcome_and_no_settlement(parties: Parties) -> None:
    work_id = publish(parties)["work_id"]
    contract_id = award(parties, work_id)
    answer = parties.consumer.post("verification", f"/v1/contracts/{contract_id}/cancel")
    assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")
    until_work(parties.consumer, work_id, "cancelled")
    assert parties.consumer.get("verification", f"/v1/outcomes/{contract_id}").status_code == 404
    assert parties.finance.get("settlement", f"/v1/settlements/{contract_id}").status_code == 404
    late = parties.agent.post("verification", f"/v1/contracts/{contract_id}/outputs", {"output": {"text": GOOD}})
    assert (late.status_code, late.json()["code"]) == (409, "contract_closed")


def test_a_contract_that_its_agent_declines_costs_nothing_and_has_its_cause(parties: Parties) -> None:
    work_id = publish(parties)["work_id"]
    contract_id = award(parties, work_id)
    answer = parties.agent.post("verification", f"/v1/contracts/{contract_id}/decline")
    assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")
    until_work(parties.consumer, work_id, "cancelled")
    assert parties.consumer.read("verification", f"/v1/contracts/{contract_id}")["cause"] == "declined"
    assert parties.finance.get("settlement", f"/v1/settlements/{contract_id}").status_code == 404


def test_a_contract_cannot_be_cancelled_once_a_candidate_was_received(parties: Parties) -> None:
    contract_id = contract(parties)
    deliver(parties, contract_id, POOR)
    answer = parties.consumer.post("verification", f"/v1/contracts/{contract_id}/cancel")
    assert (answer.status_code, answer.json()["code"]) == (409, "candidate_received")


def test_a_contract_that_expires_with_nothing_judged_costs_nothing(parties: Parties) -> None:
    work_id = publish(parties, verification={"deadline_s": 1})["work_id"]
    contract_id = award(parties, work_id)
    settled = until_settled(parties.finance, contract_id)  # without any request to verification: the timer fires
    assert amounts(settled["cost"]) == ("0.00", "0.00", "0.00", "0.00")
    outcome = parties.consumer.read("verification", f"/v1/outcomes/{contract_id}")
    assert (outcome["final_status"], outcome["verification_result"]) == ("expired", None)
    until_work(parties.consumer, work_id, "completed")
    late = parties.agent.post("verification", f"/v1/contracts/{contract_id}/outputs", {"output": {"text": GOOD}})
    assert late.status_code == 409
