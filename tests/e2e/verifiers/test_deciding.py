"""A verifier that the work names decides over its contract, beside the criteria or alone."""

from unittest.mock import ANY

import pytest

from tests.e2e.jobs import amounts, candidate, deliver, until_settled, until_status
from tests.e2e.live import Live
from tests.e2e.parties import Parties
from tests.e2e.verifiers.contracts import FINE, WORDS, attempts, contract, outcome, visible

pytestmark = pytest.mark.e2e


def test_agent_reads_the_verifiers_feedback_and_its_revision_is_paid(
    parties: Parties,
) -> None:
    contract_id = contract(parties, "tone")
    poor = deliver(parties, contract_id, "a bad text")
    assert (poor["status"], poor["verdict"], poor["counted"]) == ("judged", "rejected", True)
    assert poor["feedback"].splitlines() == [
        '<verification_rejected code="tone" attempt="1" max_attempts="3">',
        "Summary: say it without &lt;bad&gt;",
        "</verification_rejected>",
    ]
    assert visible(parties, contract_id)["last_feedback"] == poor["feedback"]
    assert deliver(parties, contract_id, FINE)["verdict"] == "passed"
    until_status(parties.consumer, contract_id, "passed")
    assert amounts(until_settled(parties.finance, contract_id)["cost"]) == ("0.40", "0.00", "0.00", "0.40")
    found = outcome(parties, contract_id)
    assert (found["final_status"], found["attempts_used"]) == ("passed", 2)
    assert found["final_result"] == {
        "text": FINE.upper(),
        "attempt": 2,
        "asked": {"text": "Minutes."},
        "told": 1,
        "contract_id": contract_id,
        "in_time": True,
        "process": ANY,
    }


def test_three_different_rejections_use_the_attempts_up(parties: Parties) -> None:
    contract_id = contract(parties, "tone")
    for number in range(1, 4):
        attempt = deliver(parties, contract_id, f"bad number {number}")
        assert f'attempt="{number}" max_attempts="3"' in attempt["feedback"]
    until_status(parties.agent, contract_id, "exhausted")
    late = parties.agent.post("verification", f"/v1/contracts/{contract_id}/outputs", candidate(FINE))
    assert (late.status_code, late.json()["code"]) == (409, "contract_closed")
    assert amounts(until_settled(parties.finance, contract_id)["cost"]) == ("0.40", "0.00", "0.00", "0.40")
    found = outcome(parties, contract_id)
    assert (found["final_status"], found["final_result"]) == ("exhausted", None)
    assert not found["verification_result"]["success"]


def test_a_rejected_candidate_ten_times_over_is_one_attempt_and_no_work(live: Live, parties: Parties) -> None:
    contract_id = contract(parties, "tone")
    first = deliver(parties, contract_id, "a bad text")
    version = visible(parties, contract_id)["state_version"]
    for _ in range(10):
        answer = parties.agent.post(
            "verification", f"/v1/contracts/{contract_id}/outputs?wait_s=5", candidate("a bad text")
        )
        repeated = answer.json()
        assert (answer.status_code, repeated["replay"], repeated["counted"]) == (200, True, False), "nothing is counted"
        assert (repeated["attempt_id"], repeated["feedback"]) == (first["attempt_id"], first["feedback"])
    after = visible(parties, contract_id)
    assert (after["attempts_used"], after["state_version"], after["status"]) == (1, version, "awaiting_revision")
    assert [each["attempt_id"] for each in attempts(parties, contract_id)] == [first["attempt_id"]]
    judged = [line for line in live.log("verification") if line.get("contract_id") == contract_id]
    assert [line["event"] for line in judged].count("candidate_judged") == 1


def test_a_corrected_claim_over_the_same_output_is_a_new_candidate(parties: Parties) -> None:
    contract_id = contract(parties, "honest")
    assert deliver(parties, contract_id, FINE, claimed_metrics={"words": 30})["verdict"] == "rejected"
    right = deliver(parties, contract_id, FINE, claimed_metrics={"words": 3})
    assert (right["verdict"], right["replay"]) == ("passed", False)
    until_settled(parties.finance, contract_id)
    found = outcome(parties, contract_id)
    assert (found["attempts_used"], found["final_result"]) == (2, 3)


def test_a_fatal_error_ends_the_contract_at_once(parties: Parties) -> None:
    contract_id = contract(parties, "tone", WORDS)
    attempt = deliver(parties, contract_id, "a hopeless text")
    assert (attempt["verdict"], attempt["counted"]) == ("rejected", True)
    assert "no text can help" in attempt["feedback"]
    until_status(parties.agent, contract_id, "failed")
    assert amounts(until_settled(parties.finance, contract_id)["cost"]) == ("0.40", "0.00", "0.00", "0.40")
    assert outcome(parties, contract_id)["final_result"] is None


def test_an_output_of_the_wrong_shape_is_answered_with_its_errors_and_costs_nothing(parties: Parties) -> None:
    contract_id = contract(parties, "tone")
    answer = parties.agent.post(
        "verification", f"/v1/contracts/{contract_id}/outputs?wait_s=30", {"output": {"text": "", "tags": [1]}}
    )
    attempt = answer.json()
    assert (answer.status_code, attempt["status"], attempt["counted"]) == (200, "invalid", False)
    assert "verdict" not in attempt or attempt["verdict"] is None
    assert [each["path"] for each in attempt["errors"]] == ["/output/text", "/output/tags/0"]
    assert attempt["feedback"].startswith('<output_invalid errors="2">')
    stand = visible(parties, contract_id)
    assert (stand["status"], stand["attempts_used"], stand.get("current_attempt")) == ("awarded", 0, None)
    deliver(parties, contract_id, "a bad text")
    repeated = parties.agent.post(
        "verification", f"/v1/contracts/{contract_id}/outputs?wait_s=30", {"output": "no summary at all"}
    ).json()
    assert [each["path"] for each in repeated["errors"]] == ["/output"]
    assert visible(parties, contract_id)["status"] == "awaiting_revision"
    assert deliver(parties, contract_id, FINE)["verdict"] == "passed"
    until_settled(parties.finance, contract_id)
    assert outcome(parties, contract_id)["attempts_used"] == 2


def test_criteria_and_verifier_both_have_to_be_met(parties: Parties) -> None:
    contract_id = contract(parties, "tone", WORDS)
    unsaid = deliver(parties, contract_id, "a bad text")
    assert unsaid["verdict"] == "rejected"
    assert [each["met"] for each in unsaid["result"]["criterion_results"]] == [True]
    assert 'code="tone"' in unsaid["feedback"]
    short = deliver(parties, contract_id, "fine")
    assert short["verdict"] == "rejected"
    assert 'code="criteria_not_met"' in short["feedback"]
    assert "- word_count: not met" in short["feedback"]
    assert deliver(parties, contract_id, FINE)["verdict"] == "passed"
    assert amounts(until_settled(parties.finance, contract_id)["cost"]) == ("0.40", "0.25", "0.00", "0.65")
    assert outcome(parties, contract_id)["final_result"]["text"] == FINE.upper()
