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
from aex_runtime.http.limits import ConcurrencyLimiter
from aex_runtime.identity.principals import Principal
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Document, Query, StoreUnavailable, key_of
from aex_runtime.unit_of_work import Unit
from aex_verification.handlers.export_outcomes import OutcomeFilter, export_outcomes
from aex_verification.repository import OUTCOMES
from aex_verification.rules.outcomes import OutcomeFormat
from tests.libs.models.results import a_result
from tests.parts.verification import START, VerificationBench
from tests.services.settlement.outcomes import an_outcome
from tests.services.verification.api.test_contracts import counter, grade

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
    bench = VerificationBench(store)
    await write(bench, *records)
    bench.clock.advance(timedelta(days=1))
    return bench


async def ask(client: httpx.AsyncClient, reader: Principal | None, path: str = PATH, **query: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {reader.role.value}:{reader.id}"} if reader else {}
    return await client.get(path, params=query, headers=headers)


async def exported(client: httpx.AsyncClient, reader: Principal = FINANCE, **query: Any) -> list[dict[str, Any]]:
    answer = await ask(client, reader, **query)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.text == "" or answer.text.endswith("\n")
    return [json.loads(line) for line in answer.text.split("\n")[:-1]]


async def test_export_lines_equal_the_outcome_route() -> None:
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
    async with counter(bench) as client:
        for reader in (FINANCE, OPERATOR, ACME, BOT):
            rows = await exported(client, reader, format="jsonl")
            assert rows == [(await ask(client, reader, f"/v1/outcomes/ctr_{n}")).json() for n in (1, 2, 3, 4)]


async def test_export_has_a_file_name_and_records_by_default() -> None:
    bench = await bench_with(ended(1))
    async with counter(bench) as client:
        records, rollouts = await ask(client, FINANCE), await ask(client, FINANCE, format="rollouts")
    assert records.headers["content-disposition"] == 'attachment; filename="outcomes-20260102T000000Z.jsonl"'
    assert rollouts.headers["content-disposition"] == 'attachment; filename="rollouts-20260102T000000Z.jsonl"'
    assert records.json()["id"] == "out_ctr_1"


async def test_rollout_has_a_step_for_each_attempt() -> None:
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
        await grade(bench, client, "one rejected")
        bench.clock.advance(timedelta(seconds=1))
        await grade(bench, client, "one two three")
        bench.clock.advance(timedelta(seconds=1))
        (row,) = await exported(client, BOT, format="rollouts")
        feedback = (await ask(client, BOT, "/v1/contracts/ctr_1/attempts")).json()["items"][0]["feedback"]
    assert row["trajectories"] == [
        {
            "env_id": "general",
            "policy_id": "bot",
            "inference_url": "aex://contracts/ctr_1?cid=ctr_1",
            "steps": [
                {
                    "obs": {"attempt": 1},
                    "action": {"text": "one rejected"},
                    "done": False,
                    "info": {"verdict": "rejected", "weighted_score": 0.0, "feedback": feedback},
                },
                {
                    "obs": {"attempt": 2, "feedback": feedback},
                    "action": {"text": "one two three"},
                    "reward": 0.75,
                    "done": True,
                    "info": {"verdict": "passed", "weighted_score": 0.75},
                },
            ],
            "length": 2,
        }
    ]
    details = row["metrics"].pop("details")
    assert row["metrics"] == {"episode_returns": [0.75], "mean_return": 0.75, "num_steps": 2, "num_episodes": 1}
    assert (details["contract_id"], details["final_status"], details["success"]) == ("ctr_1", "passed", True)
    assert score_rollout(RolloutResponse.model_validate(row)) == score_rollout(row) == 0.75


async def test_rollout_has_of_each_attempt_what_its_reader_may_see() -> None:
    unpaid = {"cpc_rate": "0.10", "base_policy": "on_success"}
    secret = {"metric": "rougeL", "metric_type": "rouge_score", "comparison": "gte", "threshold": 0.9}
    work: dict[str, Any] = {"success_criteria": {"criteria": [secret]}, "evaluation": {"reference": "the canary sang"}}
    bench = VerificationBench()
    await bench.award(terms=unpaid, verification={"max_attempts": 1}, **work)
    await bench.award("ctr_2", verification={"max_attempts": 1, "feedback": "none"}, **work)
    async with counter(bench) as client:
        for contract_id in ("ctr_1", "ctr_2"):
            body = {"output": {"text": f"said in {contract_id}"}}
            headers = {"Authorization": "Bearer agent:bot"}
            await client.post(f"/v1/contracts/{contract_id}/outputs", json=body, headers=headers)
            await bench.deliver("output.submitted")
        bench.clock.advance(timedelta(seconds=1))
        steps: dict[Principal, dict[str, Any]] = {}
        for reader in (OPERATOR, BOT, ACME, FINANCE):
            answer = await ask(client, reader, format="rollouts")
            assert "canary" not in answer.text
            for row in map(json.loads, answer.text.splitlines()):
                contract_id = row["metrics"]["details"]["contract_id"]
                steps.setdefault(reader, {})[contract_id] = row["trajectories"][0]["steps"][0]
    assert {reader: sorted(found) for reader, found in steps.items()} == {
        OPERATOR: ["ctr_1", "ctr_2"], BOT: ["ctr_1"], ACME: ["ctr_1", "ctr_2"], FINANCE: ["ctr_1", "ctr_2"],
    }  # fmt: skip
    assert steps[OPERATOR]["ctr_1"]["action"] == steps[BOT]["ctr_1"]["action"] == {"text": "said in ctr_1"}
    assert steps[BOT]["ctr_1"]["info"]["feedback"] == steps[OPERATOR]["ctr_1"]["info"]["feedback"] != ""
    assert steps[ACME]["ctr_2"]["action"] == {"text": "said in ctr_2"}  # it pays for this one
    for hidden in (steps[ACME]["ctr_1"], steps[FINANCE]["ctr_1"], steps[FINANCE]["ctr_2"]):
        assert (hidden["obs"], hidden["action"], "info" in hidden) == ({"attempt": 1}, {}, False)


async def test_outcome_without_a_visible_score_has_no_rollout() -> None:
    bench = await bench_with(
        ended(1, verification_result=None, final_status=ContractStatus.EXPIRED, attempts_used=0),
        ended(2, disclosure=FeedbackLevel.NONE),
        ended(3, verification_result=a_result(weighted_score=0.0, success=False)),
    )
    async with counter(bench) as client:
        assert [row["run_id"] for row in await exported(client, BOT, format="rollouts")] == ["out_ctr_3"]
        rows = await exported(client, ACME, format="rollouts")
        assert len(await exported(client, BOT)) == 3
    assert [(row["run_id"], row["metrics"]["mean_return"]) for row in rows] == [("out_ctr_2", 1), ("out_ctr_3", 0)]


async def test_inference_url_needs_access_to_execution_metadata() -> None:
    on_success = Terms(cpc_rate=Decimal(1), base_policy=BasePolicy.ON_SUCCESS)
    failed = a_result(success=False, verdict="rejected", weighted_score=0.5)
    metadata = {"inference_url": URL}
    bench = await bench_with(
        ended(1, execution_metadata=metadata),
        ended(2, execution_metadata=metadata, verification_result=failed, terms=on_success),
    )
    own = [f"aex://contracts/ctr_{number}?cid=ctr_{number}" for number in (1, 2)]
    expected = {BOT: [URL, URL], OPERATOR: [URL, URL], ACME: [URL, own[1]], FINANCE: own}  # acme pays for the first
    async with counter(bench) as client:
        for reader, urls in expected.items():
            rows = await exported(client, reader, format="rollouts")
            assert [row["trajectories"][0]["inference_url"] for row in rows] == urls, reader


async def test_many_pages_are_complete_and_ordered_for_any_sizes() -> None:
    sizes = {f"ctr_{number}": 900_000 if number % 9 == 0 else 10 for number in range(1, 41)}
    bench = await bench_with(
        *(
            ended(number, final_result={"text": "x" * size}, created_at=START + timedelta(seconds=number // 7))
            for number, size in enumerate(sizes.values(), 1)
        )
    )
    async with counter(bench) as client:
        rows = await exported(client, OPERATOR)
    assert len(rows) == len(sizes)
    times = [row["created_at"] for row in rows]
    assert times == sorted(times)
    assert {row["contract_id"]: len(row["final_result"]["text"]) for row in rows} == sizes


async def test_filters_narrow_the_lines_and_never_widen_them() -> None:
    late = START + timedelta(hours=30)
    bench = await bench_with(
        ended(1),
        ended(2, agent_id="crew/two"),
        ended(3, consumer_id="globex", domain="bioinformatics/DMS"),
        ended(4, agent_id="crew/two", consumer_id="globex", created_at=late),
    )
    bench.clock.advance(timedelta(days=1))
    queries: list[tuple[Principal, dict[str, str], list[int]]] = [
        (FINANCE, {}, [1, 2, 3, 4]),
        (OPERATOR, {}, [1, 2, 3, 4]),
        (FINANCE, {"agent_id": "crew/two"}, [2, 4]),
        (FINANCE, {"agent_id": "crew/two", "consumer_id": "globex"}, [4]),
        (FINANCE, {"domain": "bioinformatics/DMS"}, [3]),
        (FINANCE, {"from": "2026-01-02"}, [4]),
        (FINANCE, {"to": "2026-01-01", "consumer_id": "globex"}, [3]),
        (ACME, {}, [1, 2]),
        (ACME, {"agent_id": "bot", "consumer_id": "acme"}, [1]),
        (ACME, {"consumer_id": "globex"}, []),
        (BOT, {"domain": "general"}, [1]),
        (BOT, {"agent_id": "crew/two"}, []),
        (Principal("acme", Audience.AGENT), {}, []),
    ]
    async with counter(bench) as client:
        for reader, query, numbers in queries:
            found = [row["contract_id"] for row in await exported(client, reader, **query)]
            assert found == [f"ctr_{number}" for number in numbers], (reader, query)
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
async def test_invalid_export_query_is_a_problem_and_no_file(query: dict[str, str], status: int, code: str) -> None:
    async with counter(VerificationBench()) as client:
        answer = await ask(client, FINANCE, **query)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert "content-disposition" not in answer.headers


def exporting(
    bench: VerificationBench, limiter: ConcurrencyLimiter | None = None, reader: Principal = FINANCE
) -> AsyncGenerator[bytes, None]:
    gate = limiter or ConcurrencyLimiter(1, 1, "exports", "exports_busy")
    return export_outcomes(bench.deps, reader, OutcomeFilter(), OutcomeFormat.JSONL, gate)


class FailingStore(MemoryStore):
    """Store that fails after `pages` pages of outcomes."""

    def __init__(self, pages: int) -> None:
        super().__init__()
        self.pages = pages

    async def query_page(self, query: Query) -> list[Document]:
        if query.collection == OUTCOMES.collection:
            if not self.pages:
                raise StoreUnavailable("gone")
            self.pages -= 1
        return await super().query_page(query)


async def test_store_failure_during_an_export_aborts_it() -> None:
    bench = await bench_with(*(ended(number) for number in range(40)), store=FailingStore(pages=2))
    limiter = ConcurrencyLimiter(1, 1, "exports", "exports_busy")
    pieces = exporting(bench, limiter)
    with capture_logs() as logs:
        taken = await anext(pieces) + await anext(pieces)
        with pytest.raises(StoreUnavailable):
            await anext(pieces)
    assert 0 < taken.count(b"\n") < 40
    assert limiter.in_use == 0
    (line,) = [line for line in logs if line["event"] == "export_aborted"]
    assert line["rows"] == taken.count(b"\n")
    async with counter(bench) as client:  # it fails before the first page
        answer = await ask(client, FINANCE)
    assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")


async def test_last_export_slot_is_for_readers_that_see_all() -> None:
    bench = await bench_with(ended(1))
    limiter = ConcurrencyLimiter(1, 2, "exports", "exports_busy", reserved=1)
    async with aclosing(exporting(bench, limiter, BOT)) as first:
        await anext(first)
        with pytest.raises(RateLimited, match="too_many_exports"):
            await anext(exporting(bench, limiter, BOT))
        with pytest.raises(TemporarilyUnavailable, match="exports_busy"):
            await anext(exporting(bench, limiter, ACME))
        async with aclosing(exporting(bench, limiter, OPERATOR)) as operators:
            assert await anext(operators)
    assert limiter.in_use == 0


async def test_outcome_after_the_start_is_not_exported() -> None:
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
    def __init__(self, many: int) -> None:
        super().__init__()
        self.many = many

    async def query_page(self, query: Query) -> list[Document]:
        start = 0 if query.after is None else int(str(query.after[1])) + 1
        return [self._large(number) for number in range(start, min(start + query.limit, self.many))]

    def _large(self, number: int) -> Document:
        record = ended(number, final_result={"text": "x" * 1_000_000})
        body, fields = OUTCOMES.encode(record)
        return Document(f"{number:06d}", body, {**fields, "created_at": epoch_micros(record.created_at)}, 1)


async def test_memory_of_an_export_is_bounded() -> None:
    many = 40
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
    assert peak < 30_000_000
