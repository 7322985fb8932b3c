"""`POST /v1/verify`: a verdict over the route, and nothing left behind."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from aex_models.audiences import Audience
from aex_models.contract import Candidate
from aex_models.governance import Party
from aex_runtime.errors import InvalidRequest, TemporarilyUnavailable
from aex_runtime.identity.principal import Principal
from aex_runtime.store.buffer import BufferedTransaction
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Collection, Document, T
from aex_verification.api.verify import MAX_OF_ALL, MAX_OF_ONE
from aex_verification.handlers.read import attempt_row
from aex_verification.handlers.submit_output import submit_output
from aex_verification.handlers.try_candidate import try_candidate
from aex_verification.main import create_app
from aex_verification.ports import Judgement, JudgeRequest
from aex_verification.rules.records import Facts
from aex_verification.settings import Settings
from tests.parts.verification import NO_KEY, START, VerificationBench
from tests.services.verification.test_contracts_api import counter

CRITERION = {"metric": "word_count", "metric_type": "count", "comparison": "gte", "threshold": 3, "bonus": "0.05"}
SECRET = {"metric": "rougeL", "metric_type": "rouge_score", "comparison": "gte", "threshold": 0.4}
BODY: dict[str, Any] = {
    "success_criteria": {"criteria": [CRITERION, SECRET]},
    "evaluation": {"reference": "the cat sat"},
    "output": {"text": "the cat sat down"},
}


class BrokenJudge:
    """No worker comes to an end. `error`: how."""

    def __init__(self, error: str) -> None:
        self.error = error

    async def judge(self, _: JudgeRequest) -> Judgement:
        return Judgement(None, Facts(), error=self.error)


async def verify(client: httpx.AsyncClient, body: Any, caller: str = "consumer:acme", **headers: str) -> httpx.Response:
    return await client.post("/v1/verify", json=body, headers={"Authorization": f"Bearer {caller}", **headers})


async def answered(body: Any, **headers: str) -> httpx.Response:
    async with counter(VerificationBench()) as client:
        return await verify(client, body, **headers)


async def test_a_verdict_comes_with_what_led_to_it() -> None:
    answer = await answered(BODY)
    assert answer.status_code == 200
    result = answer.json()
    assert (result["verdict"], result["success"], result["bonus"]) == ("passed", True, "0.05")
    assert [(each["metric"], each["met"]) for each in result["criterion_results"]] == [
        ("word_count", True),
        ("rougeL", True),
    ]
    assert result["criterion_results"][1]["value"] == pytest.approx(6 / 7)
    assert (result["governance"]["action"], result["contract_id"]) == ("skipped", "none")
    assert result["verified_at"] == START.isoformat().replace("+00:00", "Z")


async def test_the_candidate_s_hash_is_that_of_an_attempt_with_the_same_output() -> None:
    metadata = {"duration_ms": 12.5, "model": "m"}
    bench = VerificationBench()
    await bench.award()
    candidate = Candidate.model_validate({"output": BODY["output"], "execution_metadata": metadata})
    effect, _ = await submit_output(bench.deps, Party(id="bot"), "ctr_1", candidate, NO_KEY)
    attempt = await attempt_row(bench.deps, "ctr_1", effect.resource_id)
    async with counter(bench) as client:
        tried = await verify(client, {**BODY, "execution_metadata": metadata})
        bare = await verify(client, BODY)
    assert tried.json()["candidate_hash"] == attempt.candidate_hash
    assert bare.json()["candidate_hash"] not in {None, attempt.candidate_hash}


async def test_an_output_that_no_contract_would_take_is_refused_here_too() -> None:
    consumer = Principal("acme", Audience.CONSUMER)
    with pytest.raises(InvalidRequest) as refused:
        await try_candidate(VerificationBench().deps, consumer, {**BODY, "output": {"n": 2**53 + 1}}, size=0)
    assert refused.value.code == "not_canonical"
    assert refused.value.errors[0].path == "/output/n"


class StoreThatNobodyUses(MemoryStore):
    """Refuses to be read or written."""

    async def get(self, collection: Collection, key: str) -> Document | None:
        raise AssertionError(f"{key} of {collection.name} was read")

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        raise AssertionError(f"{', '.join(keys)} of {collection.name} were read")

    async def transact(self, fn: Callable[[BufferedTransaction], Awaitable[T]]) -> T:
        raise AssertionError(f"{fn} was to write")


async def test_nothing_is_stored_sent_or_asked_of_governance() -> None:
    bench = VerificationBench(StoreThatNobodyUses())
    async with counter(bench) as client:
        assert (await verify(client, BODY, **{"Idempotency-Key": "k"})).status_code == 200
    assert (bench.events, bench.governance.asked) == ([], [])


async def test_a_repeat_under_one_idempotency_key_is_verified_again_and_an_unusable_key_refused() -> None:
    bench = VerificationBench()
    async with counter(bench) as client:
        answers = [await verify(client, BODY, **{"Idempotency-Key": "k"}) for _ in range(2)]
        assert [each.status_code for each in answers] == [200, 200]
        assert bench.judge.judged == 2
        assert "Idempotent-Replayed" not in answers[1].headers
        assert (await verify(client, BODY, **{"Idempotency-Key": "x" * 256})).status_code == 400


async def test_what_only_the_platform_can_measure_may_be_given_and_is_else_indeterminate() -> None:
    criterion = {"metric": "platform_latency_ms", "metric_type": "latency", "comparison": "lte", "threshold": 100}
    body = {"success_criteria": {"criteria": [criterion]}, "output": {}}
    assert (await answered(body)).json()["verdict"] == "indeterminate"
    assert (await answered({**body, "platform_latency_ms": 99})).json()["verdict"] == "passed"
    assert (await answered({**body, "platform_latency_ms": 101})).json()["verdict"] == "rejected"


@pytest.mark.parametrize(
    ("change", "status", "places"),
    [
        ({"success_criteria": {"criteria": []}}, 400, ["/success_criteria/criteria"]),
        ({"success_criteria": None}, 400, ["/success_criteria"]),
        ({"evaluation": None}, 400, ["/evaluation/reference"]),
        ({"evaluation": {"reference": 5}}, 422, ["/evaluation/reference"]),
        ({"evaluation": {"reference": "x", "pattern": "(?=x)"}}, 400, ["/evaluation/pattern"]),
        ({"input": {"reference": "x"}}, 400, ["/input/reference"]),
        ({"execution_metadata": {"duration_ms": "fast"}}, 422, ["/execution_metadata/duration_ms"]),
        ({"platform_latency_ms": -1}, 422, ["/platform_latency_ms"]),
        ({"claims": {}}, 422, ["/claims"]),
        (
            {"success_criteria": {"criteria": [{**CRITERION, "metric": "nope", "bonus": -1}]}, "input": 5},
            400,
            ["/input", "/success_criteria/criteria/0/bonus", "/success_criteria/criteria/0/metric"],
        ),
    ],
)
async def test_everything_wrong_comes_in_one_answer(change: dict[str, Any], status: int, places: list[str]) -> None:
    answer = await answered({**BODY, **change})
    assert answer.status_code == status, answer.text
    assert sorted({each["path"] for each in answer.json()["errors"]}) == places
    assert answer.json()["code"] == "invalid_verification"


async def test_a_body_that_is_no_object_and_an_output_that_is_missing_are_of_the_wrong_shape() -> None:
    assert (await answered([1])).status_code == 422
    missing = {name: value for name, value in BODY.items() if name != "output"}
    answer = await answered(missing)
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "/output")
    assert (await answered({**BODY, "output": None})).status_code == 200


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("PoolBusy", "verifier_busy"),
        ("WorkersUnavailable", "verifier_busy"),
        ("SandboxUnavailable", "sandbox_unavailable"),
        ("JobTimeout", "verification_timed_out"),
        ("JobCrashed", "verification_lost"),
        ("UnreadableAnswer (KeyError)", "verification_lost"),
    ],
)
async def test_a_verifier_that_comes_to_no_end_is_to_be_asked_later(error: str, code: str) -> None:
    bench = VerificationBench()
    bench.rewire(replace(bench.deps, judge=BrokenJudge(error)))
    async with counter(bench) as client:
        answer = await verify(client, BODY)
    assert (answer.status_code, answer.json()["code"]) == (503, code)
    assert int(answer.headers["Retry-After"]) >= 1


class JudgeThatWaits:
    """Judges nobody until it is told to go on."""

    def __init__(self) -> None:
        self.full, self.go_on = asyncio.Event(), asyncio.Event()
        self.lanes: list[str] = []

    async def judge(self, request: JudgeRequest) -> Judgement:
        self.lanes.append(request.consumer_id)
        if len(self.lanes) == MAX_OF_ALL:
            self.full.set()
        await self.go_on.wait()
        return Judgement(None, Facts(), error="JobTimeout")


async def test_one_consumer_has_so_many_at_once_and_all_together_so_many() -> None:
    bench, judge = VerificationBench(), JudgeThatWaits()
    bench.rewire(replace(bench.deps, judge=judge))
    async with counter(bench) as client, asyncio.TaskGroup() as group:
        everybody = [f"consumer:c{number // MAX_OF_ONE}" for number in range(MAX_OF_ALL)]
        under_way = [group.create_task(verify(client, BODY, caller)) for caller in everybody]
        await judge.full.wait()
        mine = await verify(client, BODY, "consumer:c0")
        assert (mine.status_code, mine.json()["code"]) == (429, "too_many_verifications")
        other = await verify(client, BODY, "consumer:other")
        assert (other.status_code, other.json()["code"]) == (503, "verifier_busy")
        assert mine.headers["Retry-After"] == other.headers["Retry-After"] == "1"
        judge.go_on.set()
    assert {(await each).status_code for each in under_way} == {503}
    assert judge.lanes[0] == "c0"


async def test_nobody_waits_for_a_verdict_without_end() -> None:
    bench = VerificationBench()
    bench.rewire(replace(bench.deps, judge=JudgeThatWaits()))
    consumer = Principal("acme", Audience.CONSUMER)
    with pytest.raises(TemporarilyUnavailable) as refused:
        await try_candidate(bench.deps, consumer, BODY, size=0, patience_s=0.01)
    assert refused.value.code == "verification_timed_out"


async def test_a_place_is_free_again_after_each_verdict() -> None:
    async with counter(VerificationBench()) as client:
        for _ in range(MAX_OF_ONE + 1):
            assert (await verify(client, BODY)).status_code == 200


@pytest.mark.parametrize("caller", ["agent:bot", "finance:fiona", "operator:olga", "service:settlement"])
async def test_it_is_for_consumers(caller: str) -> None:
    async with counter(VerificationBench()) as client:
        assert (await verify(client, BODY, caller)).status_code == 403


def test_the_api_document_tells_the_body_the_answer_and_the_errors(tmp_path: Path) -> None:
    document = create_app(Settings(data_dir=tmp_path / ".aex")).openapi()
    operation = document["paths"]["/v1/verify"]["post"]
    body = operation["requestBody"]["content"]["application/json"]["schema"]
    described = document["components"]["schemas"][body["$ref"].rpartition("/")[2]]
    assert described["required"] == ["output"]
    assert {"success_criteria", "science", "data", "artifacts", "claimed_values"} <= set(described["properties"])
    assert {"200", "400", "401", "403", "413", "422", "429", "503"} <= set(operation["responses"])
    assert [each["name"] for each in operation["parameters"]] == ["Idempotency-Key"]
