"""Holds over the API: parties, filters, reasons of decisions, metrics and counters."""

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta
from itertools import combinations, product
from typing import Any

import httpx
import pytest

from aex_governance.handlers.decide_hold import decide_hold, open_hold
from aex_governance.handlers.read_holds import MAX_COUNT, count_waiting_holds_up_to_max
from aex_governance.handlers.validate_outcome import validate_outcome
from aex_governance.repository import HOLDS, hold_id_of
from aex_models.events import OutcomeHeld
from aex_models.governance import Hold, HoldCause, HoldDecision, HoldStatus
from aex_runtime.errors import Conflict
from aex_runtime.http.idempotency import IdempotentRequest
from aex_runtime.store.port import Transaction, key_of
from aex_runtime.unit_of_work import UnitOfWork
from tests.parts.measured import RecordedMeasures
from tests.services.governance.client import OLGA, OMAR, Client, make_flag
from tests.services.governance.process import Process
from tests.services.governance.requests import NOW, validation_request


async def decide(client: Client, hold: Hold, reason: str, decision: str = "release") -> httpx.Response:
    path, body = f"/v1/holds/{hold.hold_id}/decision", {"decision": decision, "reason": reason}
    return await client.http.post(path, json=body, headers=client.bearer(OLGA))


async def test_hold_has_the_parties_of_a_logged_attempt(client: Client) -> None:
    known = await client.hold(1, make_flag(), request_fields={"agent": {"id": "crew"}, "domain": "news"})
    unknown = await client.hold(2, cause=HoldCause.CUSTOM_METRIC_FAILED)
    holds = [(await client.get(OLGA, f"/v1/holds/{each.hold_id}")).json() for each in (known, unknown)]
    names = ("agent_id", "consumer_id", "work_id", "domain")
    assert [holds[0][name] for name in names] == ["crew", "acme", "work_1", "news"]
    assert [holds[1][name] for name in names] == [None] * 4


async def test_holds_are_listed_by_contract_and_status(client: Client) -> None:
    first = await client.hold("a", make_flag(), contract_id="ctr_1")
    await client.hold("b", make_flag(), contract_id="ctr_2")
    second = await client.hold("c", make_flag(), contract_id="ctr_1")
    await decide(client, first, "once more", "retry")

    async def found(**query: str) -> list[str]:
        return [each["hold_id"] for each in (await client.get(OLGA, "/v1/holds", **query)).json()["items"]]

    assert await found(contract_id="ctr_1") == [second.hold_id, first.hold_id]
    assert await found(contract_id="ctr_1", status="decided") == [first.hold_id]
    assert await found(contract_id="ctr_9") == []
    assert len(await found()) == 3


@pytest.mark.parametrize("is_old", [False, True], ids=["new", "old"])
async def test_holds_are_found_by_each_filter_and_each_pair_of_any_status(client: Client, is_old: bool) -> None:
    parties = list(
        product(("crew", "bot"), ("acme", "globex"), (HoldCause.FRAUD_SUSPECTED, HoldCause.REVIEW_UNPARSABLE))
    )
    made: list[Hold] = []
    for number, (agent, consumer, cause) in enumerate(parties):
        status = HoldStatus.DECIDED if number in {1, 2, 5} else HoldStatus.WAITING
        hold = a_hold(number, agent_id=agent, consumer_id=consumer, cause=cause, status=status)
        await put(client, hold, without={"consumer_id"} if is_old and number < 6 else set())
        made.insert(0, hold)
    await put(client, a_hold(9, held_at=NOW - timedelta(1)))  # of an attempt that governance never got
    values = {"agent_id": "crew", "consumer_id": "acme", "cause": "fraud_suspected"}
    pairs = [names for size in range(1, 3) for names in combinations(values, size)]
    for names, further in product(pairs, ({}, {"status": "waiting"}, {"status": "decided"}, {"contract_id": "ctr_0"})):
        query = {name: values[name] for name in names} | further
        found = (await client.get(OLGA, "/v1/holds", **query)).json()["items"]
        expected = [each.hold_id for each in made if all(getattr(each, name) == query[name] for name in query)]
        assert [each["hold_id"] for each in found] == expected, query


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"agent_id": "a", "consumer_id": "c", "cause": "fraud_suspected"}, "too_many_filters"),
        ({"cause": "fraud"}, "invalid_shape"),
        ({"agent_id": ""}, "invalid_shape"),
        ({"agent": "a"}, "unknown_parameter"),
    ],
)
async def test_invalid_filter_of_holds_is_refused(client: Client, query: dict[str, str], code: str) -> None:
    answer = await client.get(OLGA, "/v1/holds", **query)
    assert (answer.status_code, answer.json()["code"]) == (422, code)


def a_hold(number: int, **fields: Any) -> Hold:
    plain = {"contract_id": f"ctr_{number}", "attempt_id": f"att_{number}", "cause": HoldCause.SYSTEM_RETRIES_EXHAUSTED}
    held_at = NOW + timedelta(seconds=number)
    return Hold(**{"hold_id": f"hold_{number}", "held_at": held_at, **plain, **fields})


async def put(client: Client, hold: Hold, without: Collection[str] = ()) -> None:
    body, fields = HOLDS.encode(hold)
    kept = {name: value for name, value in fields.items() if name not in without}

    async def write(transaction: Transaction) -> None:
        transaction.put(HOLDS.collection, key_of(hold.hold_id), body, kept)

    await client.deps.store.transact(write)


async def test_blank_reason_is_refused_with_its_path(client: Client) -> None:
    hold = await client.hold(1, make_flag())
    for reason in (" ", "\n\t ", "\u200b"):
        answer = await decide(client, hold, reason)
        problem = answer.json()
        assert (answer.status_code, problem["code"]) == (400, "blank_reason")
        assert problem["errors"][0]["path"] == "/reason"
    assert (await decide(client, hold, " seen \n")).json()["reason"] == "seen"


async def test_metric_has_the_longest_wait(client: Client) -> None:
    async def oldest_s() -> float:
        text = (await client.http.get("/metrics")).text
        return float(next(line for line in text.splitlines() if line.startswith("aex_holds_oldest_s")).split()[-1])

    assert await oldest_s() == 0
    first = await client.hold(1, make_flag())
    client.clock.advance(timedelta(minutes=5))  # and a minute with each hold
    second = await client.hold(2, make_flag())
    assert await oldest_s() == 7 * 60
    await client.decide(first.hold_id, OMAR, decision="reject")
    assert await oldest_s() == 60
    assert (await client.get(OLGA, f"/v1/holds/{second.hold_id}")).json()["status"] == "waiting"


async def test_replayed_event_and_second_decision_keep_the_first_decision(client: Client) -> None:
    hold = await client.hold(1, make_flag())
    await client.decide(hold.hold_id, OMAR, decision="reject")
    replayed = await client.hold(1, make_flag("velocity", "major"))
    assert (replayed.status, replayed.flags) == (HoldStatus.DECIDED, hold.flags)
    assert len((await client.get(OLGA, "/v1/holds")).json()["items"]) == 1
    answer = await decide(client, hold, "seen")
    assert (answer.status_code, answer.json()["code"]) == (409, "already_decided")
    assert "by omar (reject)" in answer.json()["detail"]


KEYLESS = IdempotentRequest("", None, "")


@pytest.fixture
def measured() -> RecordedMeasures:
    return RecordedMeasures()


@pytest.fixture
def process(process: Process, measured: RecordedMeasures) -> Process:
    unit_of_work = UnitOfWork("governance", process.deps.store, process.clock, process.committed.append, measured)
    return replace(process, deps=replace(process.deps, unit_of_work=unit_of_work))


async def test_repeated_requests_count_decisions_and_flags_once(process: Process, measured: RecordedMeasures) -> None:
    for _ in range(3):
        await validate_outcome(process.deps, validation_request())
        await validate_outcome(process.deps, validation_request(attempt_id="att_2", consumer={"id": "bot"}))
    assert measured.counted == {
        ("aex_validations_total", "allow"): 1,
        ("aex_validations_total", "hold"): 1,
        ("aex_flags_total", "self_dealing"): 1,
    }


async def test_opened_and_decided_holds_count_once(process: Process, measured: RecordedMeasures) -> None:
    held = OutcomeHeld(contract_id="ctr_1", attempt_id="att_1", cause=HoldCause.CUSTOM_METRIC_FAILED)
    for _ in range(2):
        await open_hold(process.deps, held)
    decision = HoldDecision.model_validate({"decision": "retry", "reason": "the code was mended"})
    await decide_hold(process.deps, "olga", hold_id_of("att_1"), decision, KEYLESS)
    with pytest.raises(Conflict):
        await decide_hold(process.deps, "omar", hold_id_of("att_1"), decision, KEYLESS)
    assert measured.counted == {
        ("aex_holds_opened_total", "custom_metric_failed"): 1,
        ("aex_holds_decided_total", "retry"): 1,
    }


async def test_metric_counts_a_bounded_number_of_waiting_holds(client: Client) -> None:
    first = await client.hold(0, make_flag())
    for number in range(1, MAX_COUNT + 3):
        await client.hold(number, make_flag())
    assert await count_waiting_holds_up_to_max(client.deps) == MAX_COUNT
    text = (await client.http.get("/metrics")).text
    assert f'aex_holds_waiting{{service="governance"}} {MAX_COUNT}.0' in text
    await client.decide(first.hold_id)
    text = (await client.http.get("/metrics")).text
    assert 'aex_holds_decided_total{decision="release",service="governance"} 1.0' in text
