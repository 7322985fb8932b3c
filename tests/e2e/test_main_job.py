"""The main job of the product, end to end: publish, award, reject, revise, pass, settle, read."""

from decimal import Decimal

import pytest

from aex_models.audiences import Audience
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
from tests.e2e.parties import Parties, caller, fresh
from tests.e2e.stores import until_in_the_books

pytestmark = pytest.mark.e2e


def balance(parties: Parties, account: str) -> Decimal:
    balances = parties.finance.read("settlement", f"/v1/accounts/{account}")["balances"]
    return sum((Decimal(each["balance"]) for each in balances), Decimal(0))


def trial_balance(parties: Parties) -> Decimal:
    accounts = parties.finance.read("settlement", "/v1/trial-balance")["accounts"]
    assert accounts
    return sum((Decimal(each["balance"]) for each in accounts), Decimal(0))


def test_a_rejected_candidate_is_revised_passes_and_is_settled_to_the_micro(parties: Parties) -> None:
    work = publish(parties)
    assert work["status"] == "open"
    assert work["quote"]["maximum"]["total"] == "1.45"
    assert work["quote"]["minimum"]["total"] == "0.00"  # expired with nothing judged
    contract_id = award(parties, work["work_id"])

    first = deliver(parties, contract_id, POOR)
    assert (first["status"], first["verdict"], first["counted"]) == ("judged", "rejected", True)
    assert 'code="criteria_not_met" attempt="1" max_attempts="3"' in first["feedback"]
    assert "- rougeL: not met" in first["feedback"]
    waiting = parties.agent.read("verification", f"/v1/contracts/{contract_id}")
    assert (waiting["status"], waiting["attempts_used"]) == ("awaiting_revision", 1)
    assert waiting["last_feedback"] == first["feedback"]

    second = deliver(parties, contract_id, GOOD)
    assert (second["status"], second["verdict"]) == ("judged", "passed")

    outcome = parties.consumer.read("verification", f"/v1/outcomes/{contract_id}")
    assert (outcome["final_status"], outcome["attempts_used"]) == ("passed", 2)
    assert outcome["final_result"] == {"text": GOOD}
    assert amounts(outcome["billing_impact"]) == ("0.40", "0.45", "0.00", "0.85")

    settled = until_settled(parties.finance, contract_id)
    assert (settled["status"], settled["revision"], settled["success"]) == ("settled", 1, True)
    assert amounts(settled["cost"]) == ("0.40", "0.45", "0.00", "0.85")
    assert settled["cost"]["bonus_capped"] == "0.050001"
    assert [(line["metric"], line["met"], line["amount"]) for line in settled["cost"]["lines"]] == [
        ("rougeL", True, "0.30"),
        ("word_count", True, "0.200001"),
    ]
    until_in_the_books(parties.finance.live)
    assert balance(parties, f"consumer:{parties.consumer.id}") == Decimal("0.85")
    assert balance(parties, f"agent:{parties.agent.id}") == Decimal("-0.85")
    assert trial_balance(parties) == 0
    until_work(parties.consumer, work["work_id"], "completed")


def test_exhausted_attempts_cost_the_base_less_the_capped_penalty(parties: Parties) -> None:
    contract_id = contract(parties, verification={"max_attempts": 2})
    assert deliver(parties, contract_id, POOR)["verdict"] == "rejected"
    assert deliver(parties, contract_id, POOR + " yet")["verdict"] == "rejected"
    assert until_status(parties.consumer, contract_id, "exhausted")["attempts_used"] == 2
    settled = until_settled(parties.finance, contract_id)
    assert amounts(settled["cost"]) == ("0.40", "0.00", "0.06", "0.34")
    assert settled["cost"]["penalty_waived"] == "0.01"
    assert settled["success"] is False


def test_the_breakdown_adds_up_what_was_settled(parties: Parties) -> None:
    passed, exhausted = contract(parties), contract(parties, verification={"max_attempts": 1})
    deliver(parties, passed, GOOD)
    deliver(parties, exhausted, POOR)
    for contract_id in (passed, exhausted):
        until_settled(parties.finance, contract_id)
    until_in_the_books(parties.finance.live)
    found = parties.consumer.read("settlement", "/v1/settlements/breakdown", group_by=["agent", "domain"])
    assert len(found["rows"]) == 1
    row = found["rows"][0]
    assert (row["agent"], row["domain"], row["currency"]) == (parties.agent.id, "news", "USD")
    assert (row["count"], row["success_count"]) == (2, 1)
    assert [row[name] for name in ("cpc", "cpa_bonus", "cpa_penalty", "total")] == ["0.80", "0.45", "0.06", "1.19"]
    assert [total["total"] for total in found["totals"]] == ["1.19"]


def test_a_work_that_allows_claims_is_claimed_at_its_highest_price(parties: Parties) -> None:
    budget = {"max_cpc": "0.70", "base_policy": "on_success"}
    work_id = publish(parties, budget=budget, allow_claims=True)["work_id"]
    assert work_id in [each["work_id"] for each in parties.agent.read("work-publisher", "/v1/work", limit=200)["items"]]
    claimed = parties.agent.post("work-publisher", f"/v1/work/{work_id}/claim")
    assert claimed.status_code == 201, claimed.text
    assert claimed.json()["cpc_rate"] == "0.70"
    late = caller(parties.agent.live, Audience.AGENT, fresh("late"))
    assert late.post("work-publisher", f"/v1/work/{work_id}/claim").status_code in {404, 409}
    contract_id = claimed.json()["contract_id"]
    assert deliver(parties, contract_id, GOOD)["verdict"] == "passed"
    assert amounts(until_settled(parties.finance, contract_id)["cost"]) == ("0.70", "0.500001", "0.00", "1.200001")
