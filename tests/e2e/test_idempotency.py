"""Fifty requests at once under one Idempotency-Key have one effect."""

import pytest

from tests.e2e.counts import object_counts
from tests.e2e.jobs import publish, work_body
from tests.e2e.live import Live
from tests.e2e.once import check_awards, check_outputs, fifty_times, the_one_effect
from tests.e2e.parties import Parties

pytestmark = pytest.mark.e2e


def test_fifty_publications_under_one_key_make_one_work(parties: Parties) -> None:
    work_id = the_one_effect(parties.consumer, "work-publisher", "/v1/work", work_body(), "work_id")
    assert [each["work_id"] for each in parties.consumer.read("work-publisher", "/v1/work")["items"]] == [work_id]


def test_fifty_awards_under_one_key_make_one_contract(live: Live, parties: Parties) -> None:
    before = object_counts(live).get("work-publisher-awards", 0)
    check_awards(parties)
    assert object_counts(live)["work-publisher-awards"] == before + 1


def test_fifty_outputs_under_one_key_make_one_attempt_and_one_settlement(live: Live, parties: Parties) -> None:
    check_outputs(live, parties)


def test_fifty_awards_without_a_key_have_one_winner(parties: Parties) -> None:
    path = f"/v1/work/{publish(parties)['work_id']}/award"
    body = {"agent_id": parties.agent.id, "cpc_rate": "0.40"}
    answers = fifty_times(lambda: parties.consumer.post("work-publisher", path, body))
    assert [each.status_code for each in answers].count(201) == 1
    assert {each.json()["code"] for each in answers if not each.is_success} == {"work_not_open"}
