"""Fifty requests at once under one Idempotency-Key have one effect."""

from uuid import uuid4

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


def test_a_key_that_comes_with_another_body_is_refused(parties: Parties) -> None:
    key = uuid4().hex
    assert parties.consumer.post("work-publisher", "/v1/work", work_body(), key=key).status_code == 201
    other = parties.consumer.post("work-publisher", "/v1/work", work_body(title="Another"), key=key)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")


def test_a_key_of_somebody_else_is_another_key(parties: Parties) -> None:
    key = uuid4().hex
    path = f"/v1/work/{publish(parties)['work_id']}/cancel"
    assert parties.consumer.post("work-publisher", path, key=key).status_code == 200
    assert parties.agent.post("work-publisher", path, key=key).status_code == 403
