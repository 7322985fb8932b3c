"""Many equal requests at once under one Idempotency-Key have one effect."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import httpx

from tests.e2e.jobs import GOOD, candidate, contract, publish, until_settled
from tests.e2e.live import Live
from tests.e2e.parties import Caller, Parties
from tests.e2e.stores import transactions_of

AT_ONCE = 50


def fifty_times(send: Callable[[], httpx.Response]) -> list[httpx.Response]:
    """The answers to as many requests, all under way at once."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [each.result() for each in [pool.submit(send) for _ in range(AT_ONCE)]]


def the_one_effect(sender: Caller, service: str, path: str, body: object, field: str) -> str:
    """Send fifty times under one key, then once more; the id of what they all made."""
    key = uuid4().hex

    def send() -> httpx.Response:
        return sender.post(service, path, body, key=key)

    answers = fifty_times(send)
    done = [each for each in answers if each.is_success]
    refused = [each for each in answers if not each.is_success]
    assert {(each.status_code, each.json()["code"]) for each in refused} <= {(409, "idempotency_in_flight")}
    assert all(int(each.headers["Retry-After"]) > 0 for each in refused)
    ids = {str(each.json()[field]) for each in done}
    assert len(ids) == 1, ids
    assert [each.headers.get("Idempotent-Replayed") for each in done].count(None) == 1
    last = send()
    assert last.is_success
    assert last.headers["Idempotent-Replayed"] == "true"
    assert last.json()[field] in ids
    return ids.pop()


def check_awards(parties: Parties) -> None:
    """Fifty awards make one contract."""
    path = f"/v1/work/{publish(parties)['work_id']}/award"
    body = {"agent_id": parties.agent.id, "cpc_rate": "0.40"}
    the_one_effect(parties.consumer, "work-publisher", path, body, "contract_id")


def check_outputs(live: Live, parties: Parties) -> None:
    """Fifty outputs make one attempt and one settlement."""
    contract_id = contract(parties)
    path = f"/v1/contracts/{contract_id}/outputs"
    attempt_id = the_one_effect(parties.agent, "verification", path, candidate(GOOD), "attempt_id")
    attempts = parties.agent.read("verification", f"/v1/contracts/{contract_id}/attempts")["items"]
    assert [each["attempt_id"] for each in attempts] == [attempt_id]
    until_settled(parties.finance, contract_id)
    assert len(transactions_of(live, contract_id)) == 1
