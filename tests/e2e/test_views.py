"""Views by role: each role sees its own, and only the consumer sees its evaluation data."""

import json

import pytest

from aex_models.audiences import Audience
from tests.e2e.jobs import GOOD, POOR, REFERENCE, award, contract, deliver, publish, until_settled
from tests.e2e.parties import Parties, caller, fresh
from tests.e2e.stores import until_in_the_books

pytestmark = pytest.mark.e2e


def test_only_the_consumer_sees_its_evaluation_data(parties: Parties) -> None:
    work_id = publish(parties)["work_id"]
    path = f"/v1/work/{work_id}"
    assert parties.consumer.read("work-publisher", path)["evaluation"]["reference"] == REFERENCE
    assert "evaluation" not in parties.agent.read("work-publisher", path)
    rival = caller(parties.consumer.live, Audience.CONSUMER, fresh("rival"))
    assert rival.get("work-publisher", path).status_code == 404
    contract_id = award(parties, work_id)
    deliver(parties, contract_id, POOR)
    deliver(parties, contract_id, GOOD)
    until_settled(parties.finance, contract_id)
    seen = [
        reader.read(service, path)
        for reader, service, path in (
            (parties.agent, "work-publisher", path),
            (parties.agent, "verification", f"/v1/contracts/{contract_id}"),
            (parties.agent, "verification", f"/v1/contracts/{contract_id}/attempts"),
            (parties.agent, "verification", f"/v1/outcomes/{contract_id}"),
            (parties.agent, "settlement", f"/v1/settlements/{contract_id}"),
            (parties.finance, "verification", f"/v1/outcomes/{contract_id}"),
            (parties.finance, "settlement", f"/v1/settlements/{contract_id}"),
        )
    ]
    assert not [each for each in seen if REFERENCE in json.dumps(each)]


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


def test_strangers_find_nothing_of_a_contract(parties: Parties) -> None:
    contract_id = contract(parties)
    deliver(parties, contract_id, GOOD)
    until_settled(parties.finance, contract_id)
    for role in (Audience.CONSUMER, Audience.AGENT):
        stranger = caller(parties.agent.live, role, fresh("stranger"))
        for service, path in (
            ("verification", f"/v1/contracts/{contract_id}"),
            ("verification", f"/v1/contracts/{contract_id}/attempts"),
            ("verification", f"/v1/outcomes/{contract_id}"),
            ("settlement", f"/v1/settlements/{contract_id}"),
        ):
            assert stranger.get(service, path).status_code == 404, path
        assert stranger.read("verification", "/v1/outcomes")["items"] == []
        assert stranger.read("settlement", "/v1/settlements")["items"] == []


def test_a_consumers_own_totals_hold_its_own_rows_alone(parties: Parties) -> None:
    contract_id = contract(parties)
    deliver(parties, contract_id, GOOD)
    until_settled(parties.finance, contract_id)
    until_in_the_books(parties.finance.live)
    for reader in (parties.consumer, parties.agent):
        totals = reader.read("settlement", "/v1/settlements/breakdown", group_by="day")["totals"]
        assert [(each["count"], each["total"]) for each in totals] == [(1, "0.85")]
