"""Following a contract: who may, from where on, for how long, and what is left when the reader is gone."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from starlette.requests import ClientDisconnect

from aex_models.contract import Candidate
from aex_models.governance import Party
from aex_runtime.store.port import Document, Query, StoreUnavailable
from aex_runtime.store.spill import SpillingStore
from aex_verification.followers import Followers, FollowingBounds
from aex_verification.handlers.close import cancel_contract
from aex_verification.handlers.submit_output import submit_output
from tests.parts.verification import NO_KEY, VerificationBench
from tests.services.verification.listening import application, listening

AGENT, CONSUMER, OPERATOR = "agent:bot", "consumer:acme", "operator:olga"
HOUR = timedelta(hours=1)
PAID, FREE = {"cpc_rate": "0.10"}, {"cpc_rate": "0.10", "base_policy": "on_success"}


async def bench_with(bounds: FollowingBounds | None = None, **award: Any) -> VerificationBench:
    bench = VerificationBench()
    bench.rewire(replace(bench.deps, followers=Followers(bounds)))
    await bench.award(**award)
    return bench


async def post(bench: VerificationBench, text: str, contract_id: str = "ctr_1") -> None:
    await submit_output(bench.deps, Party(id="bot"), contract_id, Candidate(output={"text": text}), NO_KEY)
    await bench.deliver("output.submitted")


async def test_every_step_is_told_as_it_happens_up_to_the_end() -> None:
    bench = await bench_with(verification={"max_attempts": 2})
    async with listening(application(bench, HOUR)) as follow:
        reader = follow(AGENT)
        assert await reader.frame() == {"": "following", "retry": "1000"}
        await post(bench, "one")
        first = await reader.event()
        assert (first["seq"], first["type"], first["contract_id"]) == (1, "verification_rejected", "ctr_1")
        assert (first["attempts_used"], first["max_attempts"], first["attempt_counted"]) == (1, 2, True)
        assert first["code"] == "criteria_not_met"
        await post(bench, "two")
        told = [first, await reader.event(), *await reader.rest()]
        assert [(each["seq"], each["type"]) for each in told] == [
            (1, "verification_rejected"),
            (2, "verification_rejected"),
            (3, "verification_exhausted"),
        ]
        assert reader.over
        assert reader.headers["content-type"].startswith("text/event-stream")
        assert reader.headers["cache-control"] == "no-store"
        assert reader.headers["x-accel-buffering"] == "no"


async def test_an_event_of_this_instance_is_told_at_once() -> None:
    bench = await bench_with()
    async with listening(application(bench, HOUR)) as follow:
        reader = follow(AGENT)
        await reader.frame()
        await asyncio.sleep(0.05)  # it waits by now, and looks again in a second
        await post(bench, "one two three")
        bench.deps.followers.wake("ctr_1")
        async with asyncio.timeout(0.5):
            assert (await reader.event())["type"] == "verification_passed"


async def test_an_event_that_another_instance_wrote_is_told_soon() -> None:
    bench = await bench_with()
    other = VerificationBench(store=bench.store)
    other.awards, other.blobs = bench.awards, bench.blobs
    async with listening(application(bench, HOUR)) as follow:
        reader = follow(AGENT)
        await reader.frame()
        await cancel_contract(other.deps, "acme", "ctr_1", NO_KEY)
        async with asyncio.timeout(3):
            assert (await reader.event())["type"] == "cancelled"


@pytest.mark.parametrize(("last", "told"), [(None, [1, 2, 3]), ("0", [1, 2, 3]), ("1", [2, 3]), ("2", [3])])
async def test_a_reader_that_comes_back_misses_nothing_and_gets_nothing_twice(
    last: str | None, told: list[int]
) -> None:
    bench = await bench_with(verification={"max_attempts": 2})
    await post(bench, "one")
    await post(bench, "two")
    async with listening(application(bench, HOUR)) as follow:
        assert [each["seq"] for each in await follow(AGENT, last).rest()] == told


@pytest.mark.parametrize("last", ["3", "4", "999999999"])
async def test_whoever_has_read_the_last_event_need_not_come_back(last: str) -> None:
    bench = await bench_with(verification={"max_attempts": 2})
    await post(bench, "one")
    await post(bench, "two")
    async with listening(application(bench, HOUR)) as follow:
        reader = follow(AGENT, last)
        assert await reader.rest() == []
        assert reader.status == 204


async def test_an_id_beyond_the_last_event_hides_nothing_of_what_comes() -> None:
    bench = await bench_with(verification={"max_attempts": 2})
    async with listening(application(bench, HOUR)) as follow:
        reader = follow(AGENT, "50")
        await reader.frame()
        await post(bench, "one")
        await post(bench, "two")
        assert [each["seq"] for each in await reader.rest()] == [1, 2, 3]


@pytest.mark.parametrize("last", ["one", "-1", "1.5", " 1", "١", "1" * 10])
async def test_an_id_that_no_event_has_is_refused_naming_the_header(last: str) -> None:
    bench = await bench_with()
    async with listening(application(bench, HOUR)) as follow:
        problem = await follow(AGENT, last).problem()
    assert (problem["status"], problem["code"]) == (400, "invalid_last_event_id")
    assert [each["path"] for each in problem["errors"]] == ["header/Last-Event-ID"]


@pytest.mark.parametrize("caller", [AGENT, CONSUMER, OPERATOR])
async def test_its_parties_and_operators_follow_a_contract(caller: str) -> None:
    bench = await bench_with()
    await post(bench, "one two three")
    async with listening(application(bench, HOUR)) as follow:
        assert [each["type"] for each in await follow(caller).rest()] == ["verification_passed"]


@pytest.mark.parametrize(
    ("caller", "contract_id", "status"),
    [
        ("agent:other", "ctr_1", 404),
        ("consumer:other", "ctr_1", 404),
        ("consumer:bot", "ctr_1", 404),
        (AGENT, "ctr_none", 404),
        ("finance:fiona", "ctr_1", 403),
        ("service:settlement", "ctr_1", 403),
    ],
)
async def test_nobody_else_does(caller: str, contract_id: str, status: int) -> None:
    bench = await bench_with()
    async with listening(application(bench, HOUR)) as follow:
        assert (await follow(caller, contract_id=contract_id).problem())["status"] == status


@pytest.mark.parametrize(("terms", "told"), [(PAID, True), (FREE, False)])
async def test_a_consumer_reads_what_is_said_of_an_output_once_it_pays_for_it(
    terms: dict[str, str], told: bool
) -> None:
    bench = await bench_with(verification={"max_attempts": 2}, terms=terms)
    async with listening(application(bench, HOUR)) as follow:
        early = follow(CONSUMER)
        await post(bench, "one")
        assert "message" not in await early.event()
        assert (await follow(AGENT).event())["message"]
        await post(bench, "two")
        await early.rest()
        late = await follow(CONSUMER).rest()
    assert [("message" in each) for each in late] == [told] * 3


async def test_a_deadline_that_passes_while_somebody_follows_is_told() -> None:
    bench = await bench_with(verification={"deadline_s": 60})
    async with listening(application(bench, HOUR)) as follow:
        reader = follow(AGENT)
        await reader.frame()
        await bench.pass_time(timedelta(seconds=61))
        assert [each["type"] for each in await reader.rest()] == ["expired"]


async def test_a_deadline_that_passed_unnoticed_is_told_to_whoever_comes() -> None:
    bench = await bench_with(verification={"deadline_s": 60})
    bench.clock.advance(timedelta(seconds=61))
    async with listening(application(bench, HOUR)) as follow:
        assert [each["type"] for each in await follow(AGENT).rest()] == ["expired"]


async def test_a_comment_is_sent_where_there_is_nothing_to_tell() -> None:
    bench = await bench_with(FollowingBounds(heartbeat_s=0.05))
    async with listening(application(bench, HOUR)) as follow:
        reader = follow(AGENT)
        await reader.frame()
        assert [await reader.frame() for _ in range(3)] == [{"": "still here"}] * 3


async def test_a_stream_ends_properly_after_its_time() -> None:
    bench = await bench_with(FollowingBounds(lifetime_s=0.1))
    async with listening(application(bench, HOUR)) as follow:
        reader = follow(AGENT)
        assert await reader.rest() == []
        assert reader.over
        assert await bench.deps.followers.count() == 0


async def test_a_stream_ends_with_its_token() -> None:
    bench = await bench_with()
    async with listening(application(bench, timedelta(milliseconds=100))) as follow:
        reader = follow(AGENT)
        assert await reader.rest() == []
        assert reader.over


async def test_streams_end_at_once_when_the_service_stops_and_so_do_later_ones() -> None:
    bench = await bench_with()
    app = application(bench, HOUR)
    async with listening(app) as follow, asyncio.timeout(1):
        reader = follow(AGENT)
        await reader.frame()
        app.state.open_streams.end()
        assert await reader.rest() == []
        later = follow(AGENT)
        assert await later.rest() == []
        assert reader.over
        assert later.over


async def test_a_reader_that_has_gone_holds_nothing() -> None:
    bench = await bench_with()
    app = application(bench, HOUR)
    async with listening(app) as follow:
        reader = follow(AGENT)
        await reader.frame()
        assert await bench.deps.followers.count() == len(app.state.open_streams) == 1
        reader.go()
        await reader.ended()
        assert await bench.deps.followers.count() == len(app.state.open_streams) == 0
        assert len(bench.deps.followers.waits) == 0


@pytest.mark.parametrize("stops", [True, False])
async def test_a_reader_that_takes_nothing_is_let_go_when_its_time_is_over_or_the_service_stops(stops: bool) -> None:
    bench = await bench_with(FollowingBounds(lifetime_s=60 if stops else 0.2))
    app = application(bench, HOUR)
    async with listening(app) as follow:
        reader = follow(AGENT)
        await reader.frame()
        reader.stuck = True
        await post(bench, "one two three")
        bench.deps.followers.wake("ctr_1")
        await asyncio.sleep(0.05)
        if stops:
            app.state.open_streams.end()
        async with asyncio.timeout(2):
            with pytest.raises(ClientDisconnect):
                await reader.ended()
        assert await bench.deps.followers.count() == len(app.state.open_streams) == 0


async def test_one_principal_has_so_many_streams_and_all_together_so_many() -> None:
    bench = await bench_with(FollowingBounds(of_one=2, of_all=3))
    async with listening(application(bench, HOUR)) as follow:
        mine = [follow(AGENT) for _ in range(2)]
        for each in mine:
            await each.frame()
        refused = follow(AGENT)
        problem = await refused.problem()
        assert (problem["status"], problem["code"], refused.headers["retry-after"]) == (429, "too_many_streams", "1")
        await follow(CONSUMER).frame()
        refused = follow(OPERATOR)
        problem = await refused.problem()
        assert (problem["status"], problem["code"], refused.headers["retry-after"]) == (503, "too_many_streams", "1")
        mine[0].go()
        await mine[0].ended()
        await follow(OPERATOR).frame()


async def test_a_store_that_does_not_answer_ends_the_stream_and_nothing_breaks() -> None:
    bench = await bench_with()

    class Away(SpillingStore):
        """A store that has gone."""

        async def query(self, query: Query) -> list[Document]:
            raise StoreUnavailable(f"gone: {query.collection.name}")

    bench.rewire(replace(bench.deps, store=Away(bench.store, bench.blobs)))
    async with listening(application(bench, HOUR)) as follow:
        reader = follow(AGENT)
        assert await reader.rest() == []
        assert (reader.status, reader.over) == (200, True)
