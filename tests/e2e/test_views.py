"""Views by role: each role sees its own, and only the consumer sees its evaluation data."""

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
