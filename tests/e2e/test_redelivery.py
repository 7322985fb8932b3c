"""Events come more than once: whatever has been done is not done again."""

import pytest

from tests.e2e.counts import object_counts
from tests.e2e.jobs import GOOD, contract, deliver, until_settled, until_work
from tests.e2e.live import Live
from tests.e2e.parties import Parties
from tests.e2e.stores import outcome_event, publish_events, stored_outcome, transactions_of, until_handled

pytestmark = pytest.mark.e2e


def test_an_outcome_that_is_delivered_five_times_more_settles_once(live: Live, parties: Parties) -> None:
    contract_id = contract(parties)
    deliver(parties, contract_id, GOOD)
    before = until_settled(parties.finance, contract_id)
    until_work(parties.consumer, before["work_id"], "completed")
    event = outcome_event(stored_outcome(live, contract_id))
    until_handled(live, event.type, event.id)  # the rebuilt event has the id of the real one
    counts, dead = object_counts(live), live.metric("settlement", "aex_dead_letters")

    publish_events(live, [event] * 5)
    until_handled(live, event.type, event.id, times=6)

    replays = [
        line
        for line in live.log("settlement")
        if line["event"] == "settlement_replayed" and line["contract_id"] == contract_id
    ]
    assert len(replays) == 5
    assert len(transactions_of(live, contract_id)) == 1
    assert object_counts(live) == counts
    assert parties.finance.read("settlement", f"/v1/settlements/{contract_id}") == before
    entries = parties.agent.read("settlement", f"/v1/accounts/agent:{parties.agent.id}/entries")["items"]
    assert [(each["contract_id"], each["amount"]) for each in entries] == [(contract_id, -850_000)]
    assert live.metric("settlement", "aex_dead_letters") == dead


def test_an_altered_outcome_of_a_settled_contract_is_refused_and_changes_nothing(live: Live, parties: Parties) -> None:
    contract_id = contract(parties)
    deliver(parties, contract_id, GOOD)
    before = until_settled(parties.finance, contract_id)
    record, dead = stored_outcome(live, contract_id), live.metric("settlement", "aex_dead_letters")
    dearer = record.billing_impact.model_copy(update={"base": 9, "total": 9})
    altered = outcome_event(record.model_copy(update={"billing_impact": dearer}))
    forged = altered.model_copy(update={"id": f"{altered.id}-forged"})
    publish_events(live, [forged])
    until_handled(live, forged.type, forged.id)
    assert live.metric("settlement", "aex_dead_letters") == dead + 1
    assert len(transactions_of(live, contract_id)) == 1
    assert parties.finance.read("settlement", f"/v1/settlements/{contract_id}") == before
