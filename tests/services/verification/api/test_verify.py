import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import httpx
import pytest

from aex_models.audiences import Audience
from aex_models.contract import Candidate
from aex_models.governance import Party
from aex_runtime.errors import InvalidRequest, TemporarilyUnavailable
from aex_runtime.identity.principals import Principal
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Collection, Document, T
from aex_runtime.store.transactions import BufferedTransaction
from aex_verification.api.verify import MAX_PER_CONSUMER, MAX_TOTAL
from aex_verification.handlers.read import load_attempt
from aex_verification.handlers.submit_output import submit_output
from aex_verification.handlers.verify_without_contract import grade_without_contract
from aex_verification.ports import Grade, Grader, GradeRequest
from tests.parts.verification import NO_KEY, START, VerificationBench
from tests.services.verification.api.test_contracts import counter
from tests.services.verification.listening import application

CRITERION = {"metric": "word_count", "metric_type": "count", "comparison": "gte", "threshold": 3, "bonus": "0.05"}
SECRET = {"metric": "rougeL", "metric_type": "rouge_score", "comparison": "gte", "threshold": 0.4}
LATENCY = "platform_latency_ms"
ACME = Principal("acme", Audience.CONSUMER)
BODY: dict[str, Any] = {
    "success_criteria": {"criteria": [CRITERION, SECRET]},
    "evaluation": {"reference": "the cat sat"},
    "output": {"text": "the cat sat down"},
}


async def verify(client: httpx.AsyncClient, body: Any, caller: str = "consumer:acme", **headers: str) -> httpx.Response:
    return await client.post("/v1/verify", json=body, headers={"Authorization": f"Bearer {caller}", **headers})


async def test_verdict_has_its_criteria_and_facts() -> None:
    async with counter(VerificationBench()) as client:
        answer = await verify(client, BODY)
    assert answer.status_code == 200
    result = answer.json()
    assert (result["verdict"], result["success"], result["bonus"]) == ("passed", True, "0.05")
    assert {each["metric"]: each["met"] for each in result["criterion_results"]} == {"word_count": True, "rougeL": True}
    assert result["criterion_results"][1]["value"] == pytest.approx(6 / 7)
    assert (result["governance"]["action"], result["contract_id"]) == ("skipped", "none")
    assert result["verified_at"] == START.isoformat().replace("+00:00", "Z")


async def test_candidate_hash_equals_that_of_an_attempt() -> None:
    metadata = {"duration_ms": 12.5, "model": "m"}
    bench = VerificationBench()
    await bench.award()
    candidate = Candidate.model_validate({"output": BODY["output"], "execution_metadata": metadata})
    effect, _ = await submit_output(bench.deps, Party(id="bot"), "ctr_1", candidate, NO_KEY)
    attempt = await load_attempt(bench.deps, "ctr_1", effect.resource_id)
    async with counter(bench) as client:
        tried = await verify(client, {**BODY, "execution_metadata": metadata})
        bare = await verify(client, BODY)
    assert tried.json()["candidate_hash"] == attempt.candidate_hash
    assert bare.json()["candidate_hash"] not in {None, attempt.candidate_hash}


async def test_output_outside_i_json_is_refused() -> None:
    with pytest.raises(InvalidRequest) as refused:
        await grade_without_contract(VerificationBench().deps, ACME, {**BODY, "output": {"n": 2**53 + 1}}, body_bytes=0)
    assert refused.value.code == "not_canonical"
    assert refused.value.errors[0].path == "/output/n"


class UnusedStore(MemoryStore):
    """Refuses to be read or written."""

    async def get(self, collection: Collection, key: str) -> Document | None:
        raise AssertionError(f"{key} of {collection.name} was read")

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        raise AssertionError(f"{', '.join(keys)} of {collection.name} were read")

    async def transact(self, fn: Callable[[BufferedTransaction], Awaitable[T]]) -> T:
        raise AssertionError(f"{fn} was to write")


async def test_verify_stores_and_sends_nothing_and_skips_governance() -> None:
    bench = VerificationBench(UnusedStore())
    async with counter(bench) as client:
        for _ in range(2):
            answer = await verify(client, BODY, **{"Idempotency-Key": "k"})
            assert (answer.status_code, "Idempotent-Replayed" in answer.headers) == (200, False)
        assert (await verify(client, BODY, **{"Idempotency-Key": "x" * 256})).status_code == 400
    assert (bench.events, bench.governance.requests, bench.grader.graded) == ([], [], 2)


async def test_platform_latency_may_be_given_and_is_else_indeterminate() -> None:
    criterion = {"metric": LATENCY, "metric_type": "latency", "comparison": "lte", "threshold": 100}
    body = {"success_criteria": {"criteria": [criterion]}, "output": {}}
    async with counter(VerificationBench()) as client:
        answers = [await verify(client, body | more) for more in ({}, {LATENCY: 99}, {LATENCY: 101})]
    assert [each.json()["verdict"] for each in answers] == ["indeterminate", "passed", "rejected"]


async def test_all_problems_are_reported_together() -> None:
    wrong: list[tuple[dict[str, Any], int, list[str]]] = [
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
    ]
    async with counter(VerificationBench()) as client:
        for change, status, pointers in wrong:
            answer = await verify(client, BODY | change)
            assert (answer.status_code, answer.json()["code"]) == (status, "invalid_verification"), answer.text
            assert sorted({each["path"] for each in answer.json()["errors"]}) == pointers


async def test_missing_object_or_output_is_422() -> None:
    missing = {name: value for name, value in BODY.items() if name != "output"}
    async with counter(VerificationBench()) as client:
        assert (await verify(client, [1])).status_code == 422
        answer = await verify(client, missing)
        assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "/output")
        assert (await verify(client, {**BODY, "output": None})).status_code == 200


class GraderThatFails(Grader):
    def __init__(self, error: str) -> None:
        self._error = error

    async def grade(self, request: GradeRequest) -> Grade:
        del request
        return Grade(None, error=self._error)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("PoolBusy", "verifier_busy"),
        ("SandboxUnavailable", "sandbox_unavailable"),
        ("JobTimeout", "verification_timed_out"),
        ("JobCrashed", "verification_lost"),
        ("UnreadableAnswer (KeyError)", "verification_lost"),
    ],
)
async def test_failed_grading_is_503_with_retry_after(error: str, code: str) -> None:
    bench = VerificationBench()
    bench.rewire(replace(bench.deps, grader=GraderThatFails(error)))
    async with counter(bench) as client:
        answer = await verify(client, BODY)
    assert (answer.status_code, answer.json()["code"]) == (503, code)
    assert int(answer.headers["Retry-After"]) >= 1


class GraderThatWaits(Grader):
    def __init__(self) -> None:
        self.full, self.go_on = asyncio.Event(), asyncio.Event()
        self.queues: list[str] = []

    async def grade(self, request: GradeRequest) -> Grade:
        self.queues.append(request.consumer_id)
        if len(self.queues) == MAX_TOTAL:
            self.full.set()
        await self.go_on.wait()
        return Grade(None, error="JobTimeout")


async def test_verifications_are_bounded_in_number_and_time() -> None:
    bench, grader = VerificationBench(), GraderThatWaits()
    bench.rewire(replace(bench.deps, grader=grader))
    with pytest.raises(TemporarilyUnavailable, match="verification_timed_out"):
        await grade_without_contract(bench.deps, ACME, BODY, body_bytes=0, time_limit_s=0.01)
    grader.queues.clear()
    async with counter(bench) as client, asyncio.TaskGroup() as group:
        everybody = [f"consumer:c{number // MAX_PER_CONSUMER}" for number in range(MAX_TOTAL)]
        under_way = [group.create_task(verify(client, BODY, caller)) for caller in everybody]
        await grader.full.wait()
        own = await verify(client, BODY, "consumer:c0")
        assert (own.status_code, own.json()["code"]) == (429, "too_many_verifications")
        other = await verify(client, BODY, "consumer:other")
        assert (other.status_code, other.json()["code"]) == (503, "verifier_busy")
        assert own.headers["Retry-After"] == other.headers["Retry-After"] == "1"
        grader.go_on.set()
        assert {(await each).status_code for each in under_way} == {503}
        assert (await verify(client, BODY, "consumer:c0")).json()["code"] == "verification_timed_out"
    assert grader.queues[0] == "c0"


async def test_other_roles_are_forbidden() -> None:
    async with counter(VerificationBench()) as client:
        for caller in ("agent:bot", "finance:fiona", "operator:olga", "service:settlement"):
            assert (await verify(client, BODY, caller)).status_code == 403, caller


def test_api_document_has_body_response_and_errors() -> None:
    document = application(VerificationBench()).openapi()
    operation = document["paths"]["/v1/verify"]["post"]
    body = operation["requestBody"]["content"]["application/json"]["schema"]
    described = document["components"]["schemas"][body["$ref"].rpartition("/")[2]]
    assert described["required"] == ["output"]
    assert {"success_criteria", "science", "data", "artifacts", "claimed_values"} <= set(described["properties"])
    assert {"200", "400", "401", "403", "413", "422", "429", "503"} <= set(operation["responses"])
    assert [each["name"] for each in operation["parameters"]] == ["Idempotency-Key"]
