"""The export: every outcome of the reader's, oldest first, as records or as rollouts; whole, or visibly not."""

import json
import tracemalloc
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import timedelta
from decimal import Decimal
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from aex_models import RolloutResponse
from aex_models.audiences import Audience
from aex_models.contract import ContractStatus, Terms
from aex_models.outcome import OutcomeRecord
from aex_models.work import BasePolicy, FeedbackLevel
from aex_outcomes import score_rollout
from aex_runtime.clock import epoch_micros
from aex_runtime.errors import RateLimited, TemporarilyUnavailable
from aex_runtime.http.turnstile import Turnstile
from aex_runtime.identity.principal import Principal
from aex_runtime.store.keys import key_of
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Document, Query, StoreUnavailable
from aex_runtime.unit_of_work import Unit
from aex_verification.handlers.export_outcomes import OutcomeFilter, export_outcomes
from aex_verification.repository import OUTCOMES
from aex_verification.rules.outcome_formats import OutcomeFormat
from tests.libs.models.results import a_result
from tests.parts.verification import START, VerificationBench
from tests.services.settlement.outcomes import an_outcome
from tests.services.verification.examined import claim, science, table
from tests.services.verification.test_contracts_api import counter, judge

PATH = "/v1/outcomes/export"
FINANCE, OPERATOR = Principal("fiona", Audience.FINANCE), Principal("olga", Audience.OPERATOR)
ACME, BOT = Principal("acme", Audience.CONSUMER), Principal("bot", Audience.AGENT)
URL = "https://inference.example/v1?cid=trace_1"


async def write(bench: VerificationBench, *records: OutcomeRecord) -> None:
    async def create(unit: Unit) -> None:
        for record in records:
            await unit.create_large(OUTCOMES, key_of(record.contract_id), record)

    await bench.deps.unit_of_work.run(create)


def ended(number: int, **changes: Any) -> OutcomeRecord:
    return an_outcome(f"ctr_{number}", **({"created_at": START + timedelta(seconds=number)} | changes))


async def bench_with(*records: OutcomeRecord, store: MemoryStore | None = None) -> VerificationBench:
    """A bench a day later."""
    bench = VerificationBench(store)
    for record in records:
        await write(bench, record)
    bench.clock.advance(timedelta(days=1))
    return bench


async def ask(client: httpx.AsyncClient, reader: Principal | None, path: str = PATH, **query: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {reader.role.value}:{reader.id}"} if reader else {}
    return await client.get(path, params=query, headers=headers)


async def exported(bench: VerificationBench, reader: Principal = FINANCE, **query: Any) -> list[dict[str, Any]]:
    async with counter(bench) as client:
        answer = await ask(client, reader, **query)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.text == "" or answer.text.endswith("\n")
    return [json.loads(line) for line in answer.text.split("\n")[:-1]]


async def contracts(bench: VerificationBench, reader: Principal = FINANCE, **query: Any) -> list[str]:
    return [row["contract_id"] for row in await exported(bench, reader, **query)]


async def test_each_reader_is_told_what_the_outcomes_own_route_tells_it() -> None:
    unpaid = Terms(cpc_rate=Decimal(1), base_policy=BasePolicy.ON_SUCCESS)
    bench = await bench_with(
        ended(1, final_result={"text": "done\u2028\u00e9"}, execution_metadata={"duration_ms": 5}),
        ended(
            2,
            terms=unpaid,
            verification_result=a_result(success=False, verdict="rejected", weighted_score=0.25),
            execution_metadata={"inference_url": URL},
        ),
        ended(3, verification_result=None, final_status=ContractStatus.EXPIRED, attempts_used=0),
        ended(4, disclosure=FeedbackLevel.NONE),
    )
    for reader in (FINANCE, OPERATOR, ACME, BOT):
        rows = await exported(bench, reader, format="jsonl")
        async with counter(bench) as client:
            alone = [(await ask(client, reader, f"/v1/outcomes/ctr_{number}")).json() for number in (1, 2, 3, 4)]
        assert rows == alone


async def test_a_file_has_its_name_and_records_are_its_default() -> None:
    bench = await bench_with(ended(1))
    async with counter(bench) as client:
        records, rollouts = await ask(client, FINANCE), await ask(client, FINANCE, format="rollouts")
    assert records.headers["content-disposition"] == 'attachment; filename="outcomes-20260102T000000Z.jsonl"'
    assert rollouts.headers["content-disposition"] == 'attachment; filename="rollouts-20260102T000000Z.jsonl"'
    assert records.json()["id"] == "out_ctr_1"


async def test_a_trainer_reads_a_contracts_attempts_as_the_steps_of_an_episode() -> None:
    bench = VerificationBench()
    await bench.award(
        success_criteria={
            "aggregation": "weighted",
            "criteria": [
                {"metric": "word_count", "metric_type": "count", "comparison": "gte", "threshold": 3, "weight": 3},
                {"metric": "output_length", "metric_type": "count", "comparison": "lt", "threshold": 5, "weight": 1},
            ],
        }
    )
    async with counter(bench) as client:
        await judge(bench, client, "one rejected")
        await judge(bench, client, "one two three")
    bench.clock.advance(timedelta(seconds=1))
    (row,) = await exported(bench, BOT, format="rollouts")
    assert row["trajectories"] == [
        {
            "env_id": "general",
            "policy_id": "bot",
            "inference_url": "aex://contracts/ctr_1?cid=ctr_1",
            "steps": [
                {"obs": {"attempt": 1}, "action": {}, "done": False},
                {"obs": {"attempt": 2}, "action": {}, "reward": 0.75, "done": True},
            ],
            "length": 2,
        }
    ]
    details = row["metrics"].pop("details")
    assert row["metrics"] == {"episode_returns": [0.75], "mean_return": 0.75, "num_steps": 2, "num_episodes": 1}
    assert (details["contract_id"], details["final_status"], details["success"]) == ("ctr_1", "passed", True)
    assert score_rollout(RolloutResponse.model_validate(row)) == score_rollout(row) == 0.75


async def test_an_outcome_without_a_score_that_the_reader_may_know_is_no_rollout() -> None:
    bench = await bench_with(
        ended(1, verification_result=None, final_status=ContractStatus.EXPIRED, attempts_used=0),
        ended(2, disclosure=FeedbackLevel.NONE),
        ended(3, verification_result=a_result(weighted_score=0.0, success=False)),
    )
    assert [row["run_id"] for row in await exported(bench, BOT, format="rollouts")] == ["out_ctr_3"]
    for reader in (ACME, FINANCE, OPERATOR):
        rows = await exported(bench, reader, format="rollouts")
        assert [(row["run_id"], row["metrics"]["mean_return"]) for row in rows] == [("out_ctr_2", 1), ("out_ctr_3", 0)]
    assert len(await exported(bench, BOT)) == 3


async def test_a_trainer_learns_no_reward_from_work_that_the_science_gate_refused() -> None:
    bench = VerificationBench()
    await bench.award(success_criteria=None, science=science(), verification={"max_attempts": 1})
    await claim(bench, {"mean_fitness": -0.41}, table())
    bench.clock.advance(timedelta(seconds=1))
    (row,) = await exported(bench, BOT, format="rollouts")
    assert score_rollout(row) == row["metrics"]["mean_return"] == 0
    assert row["trajectories"][0]["steps"][-1]["reward"] == 0
    details = row["metrics"]["details"]
    assert (details["verdict"], details["success"], details["final_status"]) == ("rejected", False, "exhausted")


async def test_every_way_to_narrow_an_export_is_described() -> None:
    async with counter(VerificationBench()) as client:
        export = (await client.get("/openapi.json")).json()["paths"][PATH]["get"]
    named = {each["name"]: each.get("description") for each in export["parameters"] if each["in"] == "query"}
    assert set(named) == {"format", "agent_id", "consumer_id", "domain", "from", "to"}
    assert all(named.values())


async def test_the_agents_inference_url_is_told_to_whom_its_execution_metadata_are() -> None:
    on_success = Terms(cpc_rate=Decimal(1), base_policy=BasePolicy.ON_SUCCESS)
    failed = a_result(success=False, verdict="rejected", weighted_score=0.5)
    metadata = {"inference_url": URL}
    bench = await bench_with(
        ended(1, execution_metadata=metadata),
        ended(2, execution_metadata=metadata, verification_result=failed, terms=on_success),
    )

    async def urls(reader: Principal) -> list[str]:
        rows = await exported(bench, reader, format="rollouts")
        return [row["trajectories"][0]["inference_url"] for row in rows]

    own = [f"aex://contracts/ctr_{number}?cid=ctr_{number}" for number in (1, 2)]
    assert await urls(BOT) == await urls(OPERATOR) == [URL, URL]
    assert await urls(ACME) == [URL, own[1]]  # it does not pay for the second
    assert await urls(FINANCE) == own


async def test_more_than_a_page_comes_whole_and_in_order_whatever_the_sizes() -> None:
    sizes = {number: 900_000 if number % 23 == 0 else 10 for number in range(1, 131)}
    records = [
        ended(number, final_result={"text": "x" * size}, created_at=START + timedelta(seconds=number // 7))
        for number, size in sizes.items()
    ]
    bench = await bench_with(*records)
    rows = await exported(bench)
    assert {row["contract_id"] for row in rows} == {record.contract_id for record in records}
    assert len(rows) == len(records)
    times = [row["created_at"] for row in rows]
    assert times == sorted(times)
    texts = {row["contract_id"]: len(row["final_result"]["text"]) for row in await exported(bench, OPERATOR)}
    assert texts == {f"ctr_{number}": size for number, size in sizes.items()}


async def test_filters_narrow_the_lines() -> None:
    late = START + timedelta(hours=30)
    bench = await bench_with(
        ended(1),
        ended(2, agent_id="crew/two"),
        ended(3, consumer_id="globex", domain="bioinformatics/DMS"),
        ended(4, agent_id="crew/two", consumer_id="globex", created_at=late),
    )
    bench.clock.advance(timedelta(days=1))
    assert await contracts(bench) == await contracts(bench, OPERATOR) == ["ctr_1", "ctr_2", "ctr_3", "ctr_4"]
    assert await contracts(bench, agent_id="crew/two") == ["ctr_2", "ctr_4"]
    assert await contracts(bench, agent_id="crew/two", consumer_id="globex") == ["ctr_4"]
    assert await contracts(bench, domain="bioinformatics/DMS") == ["ctr_3"]
    assert await contracts(bench, FINANCE, **{"from": "2026-01-02"}) == ["ctr_4"]
    assert await contracts(bench, to="2026-01-01", consumer_id="globex") == ["ctr_3"]
    assert await contracts(bench, ACME) == ["ctr_1", "ctr_2"]
    assert await contracts(bench, ACME, agent_id="bot", consumer_id="acme") == ["ctr_1"]
    assert await contracts(bench, BOT, domain="general") == ["ctr_1"]


async def test_what_is_somebody_elses_is_as_if_there_were_none() -> None:
    bench = await bench_with(ended(1))
    assert await contracts(bench, ACME, consumer_id="globex") == []
    assert await contracts(bench, BOT, agent_id="crew/two") == []
    assert await contracts(bench, Principal("acme", Audience.AGENT)) == []
    async with counter(bench) as client:
        assert (await ask(client, None)).status_code == 401
        assert (await ask(client, Principal("x", Audience.SERVICE))).status_code == 403


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ({"format": "csv"}, 422, "invalid_shape"),
        ({"agent_id": "=x"}, 422, "invalid_shape"),
        ({"from": "2026-01-02", "to": "2026-01-01"}, 400, "invalid_period"),
        ({"to": "yesterday"}, 400, "invalid_day"),
    ],
)
async def test_an_export_that_makes_no_sense_is_a_problem_and_no_file(
    query: dict[str, str], status: int, code: str
) -> None:
    async with counter(VerificationBench()) as client:
        answer = await ask(client, FINANCE, **query)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert "content-disposition" not in answer.headers


def exporting(
    bench: VerificationBench, turnstile: Turnstile | None = None, reader: Principal = FINANCE
) -> AsyncGenerator[bytes, None]:
    gate = turnstile or Turnstile(1, 1, "exports", "exports_busy")
    return export_outcomes(bench.deps, reader, OutcomeFilter(), OutcomeFormat.JSONL, gate)


class FailingStore(MemoryStore):
    """A store that brings so many pages of outcomes and then does not answer any more."""

    def __init__(self, pages: int) -> None:
        super().__init__()
        self.pages = pages

    async def query(self, query: Query) -> list[Document]:
        if query.collection == OUTCOMES.collection:
            if not self.pages:
                raise StoreUnavailable("gone")
            self.pages -= 1
        return await super().query(query)


async def test_a_store_that_fails_half_way_never_comes_to_the_files_end() -> None:
    bench = await bench_with(*(ended(number) for number in range(40)), store=FailingStore(pages=2))
    turnstile = Turnstile(1, 1, "exports", "exports_busy")
    pieces = exporting(bench, turnstile)
    with capture_logs() as logs:
        taken = await anext(pieces) + await anext(pieces)
        with pytest.raises(StoreUnavailable):
            await anext(pieces)
    assert 0 < taken.count(b"\n") < 40
    assert turnstile.inside == 0
    (line,) = [line for line in logs if line["event"] == "export_broken_off"]
    assert line["rows"] == taken.count(b"\n")


async def test_a_store_that_fails_at_once_is_told_of_as_ever() -> None:
    async with counter(await bench_with(store=FailingStore(pages=0))) as client:
        answer = await ask(client, FINANCE)
    assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")


async def test_a_reader_that_leaves_half_way_frees_its_place() -> None:
    bench = await bench_with(*(ended(number) for number in range(40)))
    turnstile = Turnstile(1, 1, "exports", "exports_busy")
    async with aclosing(exporting(bench, turnstile)) as pieces:
        await anext(pieces)
        assert turnstile.inside == 1
    assert turnstile.inside == 0


async def test_exports_have_places_and_the_last_is_for_those_who_see_all() -> None:
    bench = await bench_with(ended(1))
    turnstile = Turnstile(1, 2, "exports", "exports_busy", kept=1)
    async with aclosing(exporting(bench, turnstile, BOT)) as first:
        await anext(first)
        with pytest.raises(RateLimited, match="too_many_exports"):
            await anext(exporting(bench, turnstile, BOT))
        with pytest.raises(TemporarilyUnavailable, match="exports_busy"):
            await anext(exporting(bench, turnstile, ACME))
        async with aclosing(exporting(bench, turnstile, OPERATOR)) as operators:
            assert await anext(operators)


async def test_what_ends_while_an_export_runs_is_not_in_it() -> None:
    bench = await bench_with(*(ended(number) for number in range(40)))
    taken = b""
    async for piece in exporting(bench):
        taken += piece
        bench.clock.advance(timedelta(microseconds=1))
        if b"ctr_late" not in taken and await OUTCOMES.get(bench.store, key_of("ctr_late")) is None:
            await write(bench, an_outcome("ctr_late", created_at=bench.clock.now()))
    assert taken.count(b"\n") == 40
    assert b"ctr_late" not in taken


class StoreOfLargeOnes(MemoryStore):
    """So many outcomes with an output of a megabyte each, made when they are asked for."""

    def __init__(self, many: int) -> None:
        super().__init__()
        self.many = many

    async def query(self, query: Query) -> list[Document]:
        start = 0 if query.after is None else int(str(query.after[1])) + 1
        return [self._large(number) for number in range(start, min(start + query.limit, self.many))]

    def _large(self, number: int) -> Document:
        record = ended(number, final_result={"text": "x" * 1_000_000})
        body, fields = OUTCOMES.encode(record)
        return Document(f"{number:06d}", body, {**fields, "created_at": epoch_micros(record.created_at)}, 1)


async def test_an_export_of_many_large_outputs_takes_the_memory_of_a_few() -> None:
    many = 120
    bench = VerificationBench(StoreOfLargeOnes(many))
    sent = largest = 0
    tracemalloc.start()
    try:
        async for piece in exporting(bench, reader=OPERATOR):
            sent, largest = sent + len(piece), max(largest, len(piece))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sent > many * 1_000_000
    assert largest <= 262_144
    assert peak < 40_000_000
