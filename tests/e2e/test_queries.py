"""Queries need a declared index: Firestore refuses one without, and its emulator does not."""

from itertools import combinations, product

import pytest

from tests.e2e.backend import EMULATED
from tests.e2e.jobs import GOOD, contract, deliver, eventually, publish, until_settled
from tests.e2e.live import Live
from tests.e2e.logged_queries import logged_queries, uncovered
from tests.e2e.parties import Caller, Parties
from tests.e2e.stores import until_in_the_books

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.emulator,
    pytest.mark.parametrize("live", [EMULATED], indirect=True, scope="session"),
]


def read_lists(reader: Caller, service: str, path: str, **filters: str) -> None:
    """The list by each combination of the filters, and the page behind its first."""
    for size in range(len(filters) + 1):
        for chosen in combinations(filters.items(), size):
            answer = reader.get(service, path, limit=1, **dict(chosen))
            assert answer.is_success, answer.text
            cursor = answer.json()["next_cursor"]
            if cursor is not None:
                assert reader.get(service, path, limit=1, cursor=cursor, **dict(chosen)).is_success


def read_review(parties: Parties) -> None:
    """The operators' pages: the lists by each combination of their filters, and the page of a hold."""
    held = contract(parties)
    deliver(parties, held, GOOD, wait_s=0, claimed_metrics={"word_count": 14})

    def look() -> str | None:
        found = parties.operator.read("governance", "/v1/holds", contract_id=held)["items"]
        return str(found[0]["hold_id"]) if found else None

    hold_id = eventually(look, what="a hold")
    for status, cause, rule in product(("waiting", "decided"), ("", "fraud_suspected"), ("", "velocity")):
        answer = parties.operator.get("governance", "/review", status=status, cause=cause, rule=rule, limit=1)
        assert answer.is_success, answer.text
    assert parties.operator.get("governance", f"/review/holds/{hold_id}").is_success


def export(reader: Caller, service: str, what: str, **filters: str) -> None:
    """The export, to its end."""
    answer = reader.get(service, f"/v1/{what}/export", format="jsonl", **filters)
    assert answer.is_success, answer.text


def test_every_list_in_every_way_is_served_by_a_declared_index(live: Live, parties: Parties) -> None:
    contract_id = contract(parties)
    deliver(parties, contract_id, GOOD)
    past = until_settled(parties.finance, contract_id)["settled_at"]
    until_in_the_books(live)
    publish(parties)
    for reader in (parties.consumer, parties.agent):
        read_lists(reader, "work-publisher", "/v1/work", status="open")
    for reader in (parties.consumer, parties.agent, parties.operator):
        read_lists(reader, "verification", "/v1/contracts", status="passed")
        read_lists(reader, "verification", "/v1/outcomes")
        read_lists(reader, "verification", f"/v1/contracts/{contract_id}/attempts")
    read_lists(parties.operator, "governance", "/v1/holds", status="waiting", contract_id=contract_id)
    read_review(parties)
    filters = {"agent_id": parties.agent.id, "consumer_id": parties.consumer.id, "domain": "news", "status": "settled"}
    read_lists(parties.finance, "settlement", "/v1/settlements", **filters, **{"from": "2020-01-01"})
    for reader in (parties.consumer, parties.agent):
        read_lists(reader, "settlement", "/v1/settlements", domain="news", status="settled", to="2099-12-31")
        account = f"{'consumer' if reader is parties.consumer else 'agent'}:{reader.id}"
        read_lists(reader, "settlement", f"/v1/accounts/{account}/entries")
        reader.read("settlement", f"/v1/accounts/{account}")
        reader.read("settlement", f"/v1/accounts/{account}", as_of=past)
        reader.read("settlement", "/v1/settlements/breakdown", group_by=["domain", "day"], to="2099-12-31")
        export(reader, "settlement", "settlements", domain="news", status="settled")
        export(reader, "verification", "outcomes", domain="news")
    parties.finance.read("settlement", "/v1/settlements/breakdown", group_by="agent", **{"from": "2020-01-01"})
    for as_of in ({}, {"as_of": past}):
        parties.finance.read("settlement", "/v1/trial-balance", **as_of)
    days = {"from": "2020-01-01", "to": "2099-12-31"}
    export(parties.finance, "settlement", "settlements", **filters, **days)
    for named in ({}, {"agent_id": parties.agent.id}, {"consumer_id": parties.consumer.id}):
        export(parties.finance, "verification", "outcomes", **named)
        export(parties.operator, "verification", "outcomes", **named, **days)
    services = {shape.collection.partition("-")[0] for shape in logged_queries(live)}
    assert services == {"work", "verification", "governance", "settlement"}
    assert len(logged_queries(live)) > 25
    assert uncovered(live) == []
