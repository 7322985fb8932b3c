from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from starlette.requests import ClientDisconnect

from aex_runtime.store.port import Document, Query, StoreUnavailable
from aex_runtime.store.spill import SpillingStore
from aex_verification.handlers.close import cancel_contract
from aex_verification.limits import EventSubscribers, StreamBounds
from tests.libs.runtime.http.sample import until
from tests.parts.verification import NO_KEY, VerificationBench
from tests.services.verification.flow import grade
from tests.services.verification.listening import application, listening

AGENT, CONSUMER, OPERATOR = "agent:bot", "consumer:acme", "operator:olga"
PAID, FREE = {"cpc_rate": "0.10"}, {"cpc_rate": "0.10", "base_policy": "on_success"}


async def bench_with(bounds: StreamBounds | None = None, **award: Any) -> VerificationBench:
    bench = VerificationBench()
    bench.rewire(replace(bench.deps, subscribers=EventSubscribers(bounds)))
    await bench.award(**award)
    return bench


async def test_stream_has_every_event_up_to_the_end() -> None:
    bench = await bench_with(verification={"max_attempts": 2})
    async with listening(application(bench)) as follow:
        reader = follow(AGENT)
        assert await reader.frame() == {"": "following", "retry": "1000"}
        await grade(bench, "one")
        first = await reader.event()
        assert (first["seq"], first["type"], first["contract_id"]) == (1, "verification_rejected", "ctr_1")
        assert (first["attempts_used"], first["max_attempts"], first["attempt_counted"]) == (1, 2, True)
        assert first["code"] == "criteria_not_met"
        await grade(bench, "two")
        reported = [first, await reader.event(), *await reader.rest()]
        assert [(each["seq"], each["type"]) for each in reported] == [
            (1, "verification_rejected"),
            (2, "verification_rejected"),
            (3, "verification_exhausted"),
        ]
        assert reader.over
        assert reader.headers["content-type"].startswith("text/event-stream")
        assert reader.headers["cache-control"] == "no-store"
        assert reader.headers["x-accel-buffering"] == "no"


class RarePolls(EventSubscribers):
    """Subscribers that receive an event by its wake-up or not within a test."""

    def __init__(self) -> None:
        super().__init__(StreamBounds(heartbeat_s=3_600))
        self._poll_s = 3_600.0


async def test_own_event_arrives_before_the_next_poll() -> None:
    bench = await bench_with()
    bench.rewire(replace(bench.deps, subscribers=RarePolls()))
    async with listening(application(bench)) as follow:
        reader = follow(AGENT)
        await until(lambda: len(bench.deps.subscribers) == 1)
        await grade(bench, "one two three")
        assert (await reader.event())["type"] == "verification_passed"


async def test_event_of_another_instance_arrives() -> None:
    bench = await bench_with()
    other = VerificationBench(store=bench.store)
    other.awards, other.blobs = bench.awards, bench.blobs
    async with listening(application(bench)) as follow:
        reader = follow(AGENT)
        await reader.frame()
        await cancel_contract(other.deps, "acme", "ctr_1", NO_KEY)
        assert (await reader.event())["type"] == "cancelled"


@pytest.mark.parametrize(
    ("last", "reported"), [(None, [1, 2, 3]), ("0", [1, 2, 3]), ("2", [3]), ("3", []), ("4", []), ("999999999", [])]
)
async def test_resumed_stream_has_each_event_once(last: str | None, reported: list[int]) -> None:
    bench = await bench_with(verification={"max_attempts": 2})
    await grade(bench, "one")
    await grade(bench, "two")
    async with listening(application(bench)) as follow:
        reader = follow(AGENT, last)
        assert [each["seq"] for each in await reader.rest()] == reported
        assert reader.status == (200 if reported else 204)


async def test_id_beyond_the_last_event_skips_no_later_event() -> None:
    bench = await bench_with(verification={"max_attempts": 2})
    async with listening(application(bench)) as follow:
        reader = follow(AGENT, "50")
        await reader.frame()
        await grade(bench, "one")
        await grade(bench, "two")
        assert [each["seq"] for each in await reader.rest()] == [1, 2, 3]


async def test_invalid_event_id_is_refused_with_the_header() -> None:
    async with listening(application(await bench_with())) as follow:
        for last in ("one", "-1", "1.5", " 1", "١", "1" * 10):
            problem = await follow(AGENT, last).problem()
            assert (problem["status"], problem["code"]) == (400, "invalid_last_event_id")
            assert [each["path"] for each in problem["errors"]] == ["header/Last-Event-ID"]


async def test_parties_and_operators_alone_follow_a_contract() -> None:
    bench = await bench_with()
    await grade(bench, "one two three")
    others = {"agent:other": 404, "consumer:other": 404, "consumer:bot": 404, "finance:fiona": 403, "service:x": 403}
    async with listening(application(bench)) as follow:
        for caller in (AGENT, CONSUMER, OPERATOR):
            assert [each["type"] for each in await follow(caller).rest()] == ["verification_passed"], caller
        for caller, status in others.items():
            assert (await follow(caller).problem())["status"] == status, caller
        assert (await follow(AGENT, contract_id="ctr_none").problem())["status"] == 404


@pytest.mark.parametrize(("terms", "reported"), [(PAID, True), (FREE, False)])
async def test_consumer_reads_messages_on_outputs_it_pays_for(terms: dict[str, str], reported: bool) -> None:
    bench = await bench_with(verification={"max_attempts": 2}, terms=terms)
    async with listening(application(bench)) as follow:
        early = follow(CONSUMER)
        await grade(bench, "one")
        assert "message" not in await early.event()
        assert (await follow(AGENT).event())["message"]
        await grade(bench, "two")
        await early.rest()
        late = await follow(CONSUMER).rest()
    assert [("message" in each) for each in late] == [reported] * 3


@pytest.mark.parametrize("is_early", [True, False])
async def test_deadline_ends_a_stream_with_its_event(is_early: bool) -> None:
    bench = await bench_with(verification={"deadline_s": 60})
    if not is_early:
        bench.clock.advance(timedelta(seconds=61))
    async with listening(application(bench)) as follow:
        reader = follow(AGENT)
        await reader.frame()
        await bench.pass_time(timedelta(seconds=61))
        assert [each["type"] for each in await reader.rest()] == ["expired"]


@pytest.mark.parametrize(("lifetime_s", "token_s"), [(0.1, 3600), (60, 0.1)])
async def test_stream_ends_after_its_lifetime_or_token(lifetime_s: float, token_s: float) -> None:
    bench = await bench_with(StreamBounds(lifetime_s=lifetime_s))
    async with listening(application(bench, timedelta(seconds=token_s))) as follow:
        reader = follow(AGENT)
        assert await reader.rest() == []
        assert reader.over
        assert await bench.deps.subscribers.count() == 0


async def test_idle_stream_sends_comments() -> None:
    bench = await bench_with(StreamBounds(heartbeat_s=0.05))
    async with listening(application(bench)) as follow:
        reader = follow(AGENT)
        await reader.frame()
        assert [await reader.frame() for _ in range(3)] == [{"": "still here"}] * 3


async def test_shutdown_ends_open_and_later_streams() -> None:
    bench = await bench_with()
    app = application(bench)
    async with listening(app) as follow:
        reader = follow(AGENT)
        await reader.frame()
        app.state.open_streams.end_all_and_refuse_new()
        assert await reader.rest() == []
        later = follow(AGENT)
        assert await later.rest() == []
        assert reader.over
        assert later.over


async def test_disconnected_reader_frees_its_stream() -> None:
    bench = await bench_with()
    app = application(bench)
    async with listening(app) as follow:
        reader = follow(AGENT)
        await reader.frame()
        assert await bench.deps.subscribers.count() == len(app.state.open_streams) == 1
        reader.go()
        await reader.ended()
        assert await bench.deps.subscribers.count() == len(app.state.open_streams) == 0
        assert len(bench.deps.subscribers) == 0


@pytest.mark.parametrize("stops", [True, False])
async def test_stuck_reader_is_disconnected_at_lifetime_or_shutdown(stops: bool) -> None:
    bench = await bench_with(StreamBounds(lifetime_s=3_600 if stops else 0.2))
    app = application(bench)
    async with listening(app) as follow:
        reader = follow(AGENT)
        reader.stuck = True
        await reader.frame()
        await grade(bench, "one two three")
        await reader.blocked.wait()
        if stops:
            app.state.open_streams.end_all_and_refuse_new()
        with pytest.raises(ClientDisconnect):
            await reader.ended()
        assert await bench.deps.subscribers.count() == len(app.state.open_streams) == 0


async def test_streams_are_bounded_per_principal_and_in_total() -> None:
    bench = await bench_with(StreamBounds(per_principal=2, total=3))
    async with listening(application(bench)) as follow:
        own = [follow(AGENT) for _ in range(2)]
        for each in own:
            await each.frame()
        refused = follow(AGENT)
        problem = await refused.problem()
        assert (problem["status"], problem["code"], refused.headers["retry-after"]) == (429, "too_many_streams", "1")
        await follow(CONSUMER).frame()
        refused = follow(OPERATOR)
        problem = await refused.problem()
        assert (problem["status"], problem["code"], refused.headers["retry-after"]) == (503, "too_many_streams", "1")
        own[0].go()
        await own[0].ended()
        await follow(OPERATOR).frame()


async def test_unavailable_store_ends_the_stream() -> None:
    bench = await bench_with()

    class Away(SpillingStore):
        """A store that has gone."""

        async def query_page(self, query: Query) -> list[Document]:
            raise StoreUnavailable(f"gone: {query.collection.name}")

    bench.rewire(replace(bench.deps, store=Away(bench.store, bench.blobs)))
    async with listening(application(bench)) as follow:
        reader = follow(AGENT)
        assert await reader.rest() == []
        assert (reader.status, reader.over) == (200, True)
