"""Views by role: each role sees its own, and only the consumer sees its evaluation data."""

import re
from typing import Any

import pytest

from tests.e2e.jobs import GOOD, POOR, contract, deliver, until_settled
from tests.e2e.parties import Parties

pytestmark = pytest.mark.e2e


def test_secret_value_is_hidden_from_the_agent_and_visible_to_the_consumer(parties: Parties) -> None:
    contract_id = contract(parties)
    deliver(parties, contract_id, GOOD)
    outcome = f"/v1/outcomes/{contract_id}"
    visible = parties.consumer.read("verification", outcome)["verification_result"]["metrics"]
    hidden = parties.agent.read("verification", outcome)["verification_result"]["metrics"]
    assert visible["rougeL"] > 0.4
    assert "rougeL" not in hidden
    assert hidden["word_count"] == visible["word_count"]


def test_a_consumer_reads_a_candidate_only_once_it_pays_for_it(parties: Parties) -> None:
    contract_id = contract(parties, verification={"max_attempts": 2})
    first = deliver(parties, contract_id, POOR)
    path = f"/v1/contracts/{contract_id}/attempts/{first['attempt_id']}"
    early = parties.consumer.read("verification", path)
    assert (early["verdict"], early.get("candidate")) == ("rejected", None)
    assert parties.agent.read("verification", path)["candidate"]["output"] == {"text": POOR}
    deliver(parties, contract_id, GOOD)
    until_settled(parties.finance, contract_id)
    assert parties.consumer.read("verification", path)["candidate"]["output"] == {"text": POOR}


BUDGET = {"max_cpc": "1.00", "base_policy": "on_success"}
CRITERIA = {
    "criteria": [
        {"metric": "rougeL", "metric_type": "rouge_score", "comparison": "gte", "threshold": 0.9},
        {"metric": "word_count", "metric_type": "count", "comparison": "gte", "threshold": 2},
        {"metric": "latency_ms", "metric_type": "latency", "comparison": "lte", "threshold": 10},
    ]
}
_IDS_AND_TIMES = re.compile(r"\b(?:ctr|att|work|out|ver|txn|req)_[0-9A-Za-z]+|\d{4}-\d\d-\d\d[T ][0-9:.+Z]+")


def consumer_surfaces(parties: Parties, contract_id: str) -> dict[str, str]:
    """Return what the consumer can read of a contract, without ids and times."""
    verification = {
        name: parties.consumer.get("verification", path)
        for name, path in {
            "contract": f"/v1/contracts/{contract_id}",
            "attempts": f"/v1/contracts/{contract_id}/attempts",
            "outcome": f"/v1/outcomes/{contract_id}",
            "events": f"/v1/contracts/{contract_id}/events",
        }.items()
    }
    settlement = {"settlement": parties.consumer.get("settlement", f"/v1/settlements/{contract_id}")}
    exports = {
        "outcomes": parties.consumer.get("verification", "/v1/outcomes/export", format="jsonl"),
        "rollouts": parties.consumer.get("verification", "/v1/outcomes/export", format="rollouts"),
        "bookings": parties.consumer.get("settlement", "/v1/settlements/export", format="jsonl"),
    }
    answers = {name: answer.text for name, answer in (verification | settlement).items() if answer.is_success}
    lines = {
        name: "".join(one for one in each.text.splitlines() if contract_id in one) for name, each in exports.items()
    }
    return {name: _IDS_AND_TIMES.sub("…", text) for name, text in (answers | lines).items()}


def test_unpaid_outputs_that_met_the_same_criteria_are_equal_to_their_consumer(parties: Parties) -> None:
    """Each agent encodes its output in values, an error, metadata and a repeated word; none of it is paid."""
    encodings: list[tuple[str, dict[str, Any]]] = [
        ("Nothing was decided", {"execution_metadata": {"duration_ms": 30.25, "note": "a"}}),
        ("The council voted for the library on one long day", {"execution_metadata": {"note": "b"}}),
    ]
    seen = []
    for text, further in encodings:
        contract_id = contract(parties, budget=BUDGET, success_criteria=CRITERIA, verification={"max_attempts": 1})
        assert deliver(parties, contract_id, text, **further)["verdict"] == "rejected"
        assert until_settled(parties.finance, contract_id)["cost"]["total"] == "0.00"
        seen.append(consumer_surfaces(parties, contract_id))
    assert set(seen[0]) == {
        "contract",
        "attempts",
        "outcome",
        "events",
        "settlement",
        "outcomes",
        "rollouts",
        "bookings",
    }
    assert seen[0] == seen[1]
    assert '"met":true' in seen[0]["outcome"].replace(" ", "")


def test_paid_delivery_shows_its_values_to_the_consumer(parties: Parties) -> None:
    contract_id = contract(parties)
    deliver(parties, contract_id, GOOD)
    until_settled(parties.finance, contract_id)
    lines = parties.consumer.read("settlement", f"/v1/settlements/{contract_id}")["cost"]["lines"]
    assert [line["value"] > 0 for line in lines] == [True, True]
