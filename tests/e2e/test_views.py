"""Views by role: each role sees its own, and only the consumer sees its evaluation data."""

import json
import re
from functools import partial
from typing import Any

import pytest

from tests.e2e.jobs import (
    GOOD,
    POOR,
    REFERENCE,
    award,
    contract,
    deliver,
    eventually,
    publish,
    until_settled,
    until_work,
)
from tests.e2e.live import Live
from tests.e2e.pages import dashboard_page
from tests.e2e.parties import Parties, fresh, parties_of

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
ENCODER = """
def evaluate(input, output, metadata):
    code = 0
    for character in output["text"][:6]:
        code = code * 256 + ord(character)
    return {"code": code, "length": len(output["text"]), "share": 1 / (1 + code)}
"""
"""A consumer's code whose values are the output."""


def at_least(metric: str, threshold: float, metric_type: str = "numeric") -> dict[str, Any]:
    return {"metric": metric, "metric_type": metric_type, "comparison": "gte", "threshold": threshold}


def encoding_contract(parties: Parties, rouge: float, **verification: Any) -> str:
    """A contract whose criteria tell the output in values and errors; `rouge` decides whether it passes."""
    criteria = [
        *(at_least(f"custom.told.{name}", 0) for name in ("code", "length", "share")),
        at_least("rougeL", rouge, "rouge_score"),
        at_least("word_count", 2, "count"),
        {**at_least("accuracy", 0.5, "accuracy"), "required": False},
    ]
    work = publish(
        parties,
        domain=fresh("topic"),  # statistics over other tests' outputs may not flag these
        budget=BUDGET,
        success_criteria={"criteria": criteria},
        verification=verification,
        evaluation={
            "reference": REFERENCE,
            "ground_truth": ["a", "b", "c"],
            "custom_metrics": [{"name": "told", "code": ENCODER}],
        },
    )
    until_work(parties.consumer, work["work_id"], "open")
    return award(parties, work["work_id"])


_IDS_AND_TIMES = re.compile(
    r"\b(?:ctr|att|work|out|ver|txn|req|acme|bot|topic)[_-][0-9A-Za-z]+|\d{4}-\d\d-\d\d[T ][0-9:.+Z]+( UTC)?"
)


def consumer_surfaces(parties: Parties, contract_id: str) -> dict[str, str]:
    """Return what the consumer, who has one contract, can read of it, without ids and times."""
    consumer = parties.consumer
    work_id = consumer.read("verification", f"/v1/contracts/{contract_id}")["work_id"]
    attempts = f"/v1/contracts/{contract_id}/attempts"
    ids = [each["attempt_id"] for each in consumer.read("verification", attempts)["items"]]
    paths: dict[str, list[tuple[str, dict[str, Any]]]] = {
        "work-publisher": [(f"/v1/work/{work_id}", {}), ("/v1/work", {})],
        "verification": [
            (f"/v1/contracts/{contract_id}", {}),
            (f"/v1/contracts/{contract_id}/events", {}),
            (f"/v1/outcomes/{contract_id}", {}),
            *((f"{attempts}/{each}", {}) for each in ids),
            *((path, {"limit": 200}) for path in ("/v1/contracts", attempts, "/v1/outcomes")),
            *(("/v1/outcomes/export", {"format": each}) for each in ("jsonl", "rollouts")),
        ],
        "settlement": [
            (f"/v1/settlements/{contract_id}", {}),
            ("/v1/settlements", {}),
            ("/v1/settlements/breakdown", {"group_by": "agent"}),
            (f"/v1/accounts/consumer:{consumer.id}/entries", {}),
            *(("/v1/settlements/export", {"format": each}) for each in ("csv", "jsonl")),
        ],
    }
    answers = {
        f"{path} {query}": consumer.get(service, path, **query)
        for service, listed in paths.items()
        for path, query in listed
    }
    assert [what for what, answer in answers.items() if not answer.is_success] == []
    texts = {what: answer.text for what, answer in answers.items()}
    texts["page"] = dashboard_page(consumer.live, consumer, f"/settlements/{contract_id}").text
    return {_IDS_AND_TIMES.sub("…", what): _IDS_AND_TIMES.sub("…", text) for what, text in texts.items()}


SHORT_ONES = ("Nothing was decided", "They met", "It rained")
LONG_ONES = tuple(f"{word} βιβλιοθήκη μένει ανοιχτή " * 5_400 for word in ("πρώτη", "δεύτερη", "τρίτη"))
"""Texts of 350 kB: three of them, with their reasoning, are more than a page of a list holds."""


def test_unpaid_outputs_that_met_the_same_criteria_are_equal_to_their_consumer(live: Live) -> None:
    """Outputs are encoded in values, errors, metadata, sizes and texts beside; none of them is paid."""
    seen = []
    for texts, metadata in ((SHORT_ONES, {"duration_ms": 30.25}), (LONG_ONES, {"note": "b" * 60_000})):
        parties = parties_of(live)
        contract_id = encoding_contract(parties, 0.9, max_attempts=3, feedback="full")
        for text in texts:
            attempt = deliver(parties, contract_id, text, execution_metadata=metadata, reasoning=text)
            assert attempt["verdict"] == "rejected"
        assert until_settled(parties.finance, contract_id)["cost"]["total"] == "0.00"
        eventually(partial(find_bookings, parties), what="the booking")
        seen.append(consumer_surfaces(parties, contract_id))
    assert seen[0] == seen[1]
    outcome = next(text for what, text in seen[0].items() if what.startswith("/v1/outcomes/… "))
    met = [each["met"] for each in json.loads(outcome)["verification_result"]["criterion_results"]]
    assert met == [True, True, True, False, True, False]


def find_bookings(parties: Parties) -> list[Any] | None:
    """The consumer's breakdown; None until it holds something."""
    found = parties.consumer.read("settlement", "/v1/settlements/breakdown", group_by="agent")
    return found["rows"] or None


def test_paid_delivery_shows_its_values_to_the_consumer(parties: Parties) -> None:
    contract_id = encoding_contract(parties, 0.4)
    attempt = deliver(parties, contract_id, GOOD)
    assert attempt["verdict"] == "passed"
    until_settled(parties.finance, contract_id)
    result = parties.consumer.read("verification", f"/v1/outcomes/{contract_id}")["verification_result"]
    code = int.from_bytes(GOOD[:6].encode())
    values = [each["value"] for each in result["criterion_results"]]
    assert values[:3] == [code, len(GOOD), pytest.approx(1 / (1 + code))]
    assert result["metrics"]["custom.told.code"] == code
    assert result["criterion_results"][5]["error"]["code"] == "metric_missing"
    lines = parties.consumer.read("settlement", f"/v1/settlements/{contract_id}")["cost"]["lines"]
    assert [line["value"] for line in lines] == values
    path = f"/v1/contracts/{contract_id}/attempts/{attempt['attempt_id']}"
    assert parties.consumer.read("verification", path)["candidate"]["output"] == {"text": GOOD}


def test_correction_that_charges_an_unpaid_delivery_shows_it(parties: Parties) -> None:
    contract_id = contract(parties, budget=BUDGET, verification={"max_attempts": 1})
    attempt = deliver(parties, contract_id, POOR)
    assert until_settled(parties.finance, contract_id)["cost"]["total"] == "0.00"
    path = f"/v1/contracts/{contract_id}/attempts/{attempt['attempt_id']}"
    assert "candidate" not in parties.consumer.read("verification", path)
    correction = {"reason": "it was worth something", "replacement": {"base": "0.10", "bonus": "0", "penalty": "0"}}
    reversals = f"/v1/settlements/{contract_id}/reversals"
    assert parties.finance.post("settlement", reversals, correction, key=contract_id).status_code == 201
    found = eventually(lambda: parties.consumer.read("verification", path).get("candidate"), what="the output")
    assert found["output"] == {"text": POOR}
