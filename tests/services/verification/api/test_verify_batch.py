import asyncio
import json
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from aex_models.batch import MAX_BATCH_BYTES, MAX_OUTPUTS
from aex_verification.api.verify_batch import MAX_BATCHES, MAX_BATCHES_PER_CONSUMER
from aex_verification.handlers.verify_batch import check_batch, verify_batch
from aex_verification.ports import Grade, GradeRequest
from tests.libs.client.platform import served
from tests.libs.runtime.http.sample import until
from tests.parts.verification import EngineGrader, VerificationBench
from tests.services.verification.api.test_contracts import counter
from tests.services.verification.api.test_verify import ACME, CRITERION, SECRET, UnusedStore, verify
from tests.services.verification.listening import application

COMMON: dict[str, Any] = {
    "success_criteria": {"criteria": [CRITERION, SECRET]},
    "evaluation": {"reference": "the cat sat"},
}
NDJSON = "application/x-ndjson"
Json = dict[str, Any]


def lines_of(*values: Any) -> bytes:
    return b"\n".join(each if isinstance(each, bytes) else json.dumps(each).encode() for each in values)


async def post(
    client: httpx.AsyncClient, body: bytes, caller: str = "consumer:acme", media_type: str = NDJSON
) -> httpx.Response:
    headers = {"Authorization": f"Bearer {caller}", "Content-Type": media_type}
    return await client.post("/v1/verify/batch", content=body, headers=headers)


async def answered(*values: Any, bench: VerificationBench | None = None) -> list[Json]:
    async with counter(bench or VerificationBench()) as client:
        answer = await post(client, lines_of(*values))
    assert (answer.status_code, answer.headers["content-type"]) == (200, NDJSON), answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def comparable(result: Json) -> Json:
    return {name: value for name, value in result.items() if name != "verification_id"}


async def test_malformed_line_has_a_problem_and_the_others_equal_single_requests() -> None:
    texts = [" ".join(["the cat sat down"] * (number % 7)) for number in range(MAX_OUTPUTS)]
    outputs: list[Any] = [{"id": number, "output": {"text": text}} for number, text in enumerate(texts)]
    outputs[499] = b'{"id": 499, "output": {"text": '
    bench = VerificationBench()
    *answers, last = await answered(COMMON, *outputs, bench=bench)
    assert [each["index"] for each in answers] == list(range(MAX_OUTPUTS))
    assert [each["index"] for each in answers if "problem" in each] == [499]
    assert answers[499]["problem"]["code"] == "malformed_json"
    async with counter(bench) as client:
        single = [(await verify(client, COMMON | {"output": {"text": text}})).json() for text in texts[:7]]
    assert all(
        (each["id"], comparable(each["result"])) == (each["index"], comparable(single[each["index"] % 7]))
        for each in answers
        if "result" in each
    )
    summary = last["summary"]
    assert (summary["outputs"], summary["problems"], summary["passed"] + summary["rejected"]) == (1_000, 1, 999)
    met = sum(each["result"]["criterion_results"][0]["met"] for each in answers if "result" in each)
    assert summary["criteria"][0]["met"]["count"] == met


async def test_members_of_a_line_replace_those_of_the_first() -> None:
    slow = {"metric": "latency_ms", "metric_type": "latency", "comparison": "lte", "threshold": 10}
    common = {
        "success_criteria": {"criteria": [SECRET, slow]},
        "evaluation": {"reference": "a dog", "pattern": "x"},
        "execution_metadata": {"duration_ms": 5, "model": "m"},
    }
    reference, metadata = {"reference": "the cat"}, {"duration_ms": 20}
    own: Json = {"output": {"text": "the cat"}, "evaluation": reference, "execution_metadata": metadata}
    first, second, third, _ = await answered(common, {"output": {"text": "the cat"}}, own, own | {"evaluation": None})
    assert [each["met"] for each in first["result"]["criterion_results"]] == [False, True]
    assert [each["met"] for each in second["result"]["criterion_results"]] == [True, False]
    assert [each["met"] for each in third["result"]["criterion_results"]] == [False, False]
    async with counter(VerificationBench()) as client:
        single = (await verify(client, common | own | {"execution_metadata": metadata | {"model": "m"}})).json()
    assert (single["criterion_results"], single["candidate_hash"]) == (
        second["result"]["criterion_results"], second["result"]["candidate_hash"],
    )  # fmt: skip


async def test_evaluation_data_may_come_with_each_output_alone() -> None:
    common = {"success_criteria": {"criteria": [SECRET]}}
    good, bad, _ = await answered(
        common, {"output": {"text": "a"}, "evaluation": {"reference": "a"}}, {"id": "b", "output": {"text": "a"}}
    )
    assert good["result"]["verdict"] == "passed"
    assert (bad["id"], bad["problem"]["status"]) == ("b", 400)
    assert [each["path"] for each in bad["problem"]["errors"]] == ["/evaluation/reference"]


async def test_each_wrong_line_has_its_pointers_and_status() -> None:
    wrong: list[tuple[Any, int, list[str]]] = [
        (b"", 400, [""]),
        (b"[1]", 422, [""]),
        ({}, 422, ["/output"]),
        ({"output": 1, "id": True}, 422, ["/id"]),
        ({"output": 1, "outptu": 2}, 422, ["/outptu"]),
        ({"output": 1, "evaluation": 5}, 422, ["/evaluation"]),
        ({"output": 1, "evaluation": {"pattern": "(?=x)"}}, 400, ["/evaluation/pattern"]),
        ({"output": 1, "execution_metadata": {"duration_ms": "fast"}}, 422, ["/execution_metadata/duration_ms"]),
        (b'{"output": "\\u0000"}', 400, ["/output"]),
        ({"output": {"text": "the cat sat"}}, 0, []),
    ]
    *answers, last = await answered(COMMON, *(line for line, _, _ in wrong))
    for answer, (line, status, pointers) in zip(answers, wrong, strict=True):
        if status:
            problem = answer["problem"]
            assert (problem["status"], problem["type"]) == (status, f"urn:aex:problem:{problem['code']}"), line
            assert sorted({each["path"] for each in problem["errors"]}) == pointers, line
    assert (answers[3]["id"], answers[-1]["result"]["verdict"]) == (None, "passed")
    assert (last["summary"]["problems"], last["summary"]["outputs"]) == (9, 10)


async def test_wrong_first_line_is_refused_with_all_its_problems() -> None:
    wrong: list[tuple[Any, int, list[str]]] = [
        (b"", 400, []),
        (b"{", 400, [""]),
        (b"[1]", 422, [""]),
        ({}, 400, ["/success_criteria"]),
        (COMMON | {"output": 1}, 422, ["/output"]),
        (COMMON | {"science": {}}, 422, ["/science"]),
        (COMMON | {"evaluation": {"reference": 5}}, 422, ["/evaluation/reference"]),
        (COMMON | {"success_criteria": {"criteria": []}, "output": 1}, 400, ["/output", "/success_criteria/criteria"]),
    ]
    async with counter(VerificationBench()) as client:
        for line, status, pointers in wrong:
            answer = await post(client, b"" if line == b"" else lines_of(line, {"output": 1}))
            assert answer.status_code == status, answer.text
            assert [each["path"] for each in answer.json()["errors"]] == pointers, line


async def test_sizes_and_media_type_are_limited() -> None:
    async with counter(VerificationBench()) as client:
        many = await post(client, lines_of(COMMON, *[{"output": 1}] * (MAX_OUTPUTS + 1)))
        assert (many.status_code, many.json()["code"]) == (400, "too_many_outputs")
        large = await post(client, lines_of(COMMON, {"output": "x" * MAX_BATCH_BYTES}))
        assert (large.status_code, large.json()["code"]) == (413, "body_too_large")
        form = await post(client, lines_of(COMMON), media_type="application/x-www-form-urlencoded")
        assert (form.status_code, form.json()["code"]) == (400, "unsupported_media_type")
        none = await post(client, lines_of(COMMON))
        assert json.loads(none.text)["summary"]["pass_rate"] == {
            "count": 0, "total": 0, "share": None, "low": None, "high": None,
        }  # fmt: skip
        for caller in ("agent:bot", "finance:fiona", "operator:olga", "service:settlement"):
            assert (await post(client, lines_of(COMMON), caller)).status_code == 403, caller


async def test_batch_stores_and_sends_nothing() -> None:
    bench = VerificationBench(UnusedStore())
    await answered(COMMON, *[{"output": {"text": "a b c"}}] * 40, bench=bench)
    assert (bench.events, bench.governance.requests) == ([], [])


class GraderThatWaits:
    """Grader that waits, and counts the outputs that it was given and the groups that were cancelled."""

    def __init__(self) -> None:
        self.go_on, self.started = asyncio.Event(), asyncio.Event()
        self.outputs = self.cancelled = 0

    async def grade(self, request: GradeRequest) -> Grade:
        return (await self.grade_together([request]))[0]

    async def grade_together(self, requests: Sequence[GradeRequest]) -> list[Grade]:
        self.outputs += len(requests)
        self.started.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return [Grade(None, error="PoolBusy")] * len(requests)


async def test_batches_at_once_are_limited() -> None:
    bench, grader = VerificationBench(), GraderThatWaits()
    bench.rewire(replace(bench.deps, grader=grader))
    async with counter(bench) as client, asyncio.TaskGroup() as group:
        callers = [f"consumer:c{number // MAX_BATCHES_PER_CONSUMER}" for number in range(MAX_BATCHES)]
        under_way = [group.create_task(post(client, lines_of(COMMON, {"output": 1}), caller)) for caller in callers]
        await until(lambda: grader.outputs == MAX_BATCHES)
        own = await post(client, lines_of(COMMON), "consumer:c0")
        assert (own.status_code, own.json()["code"]) == (429, "too_many_batches")
        other = await post(client, lines_of(COMMON), "consumer:other")
        assert (other.status_code, other.json()["code"]) == (503, "verifier_busy")
        grader.go_on.set()
        for each in under_way:
            line, last = map(json.loads, (await each).text.splitlines())
            assert (line["problem"]["status"], line["problem"]["retry_after_s"]) == (503, 2)
            assert last["summary"]["indeterminate"] == 1
        assert (await post(client, lines_of(COMMON), "consumer:c0")).status_code == 200


async def test_closed_batch_stops_its_work_and_few_outputs_are_in_progress() -> None:
    bench, grader = VerificationBench(), GraderThatWaits()
    bench.rewire(replace(bench.deps, grader=grader))
    lock = asyncio.Lock()
    batch = await check_batch(bench.deps, lines_of(COMMON, *[{"output": 1}] * 500), lock)
    async with aclosing(verify_batch(bench.deps, ACME, batch, lock)) as groups:
        first = asyncio.ensure_future(anext(groups))
        await until(lambda: grader.outputs == 96)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
    assert (grader.outputs, grader.cancelled) == (96, 3)


class GraderOfTheFirst(GraderThatWaits):
    """Grader that grades the group with the output `first`, and waits with the others."""

    async def grade_together(self, requests: Sequence[GradeRequest]) -> list[Grade]:
        if requests[0].output == "first":
            self.outputs += len(requests)
            return [Grade(None, error="PoolBusy")] * len(requests)
        return await super().grade_together(requests)


async def test_reader_that_disconnects_stops_the_work_and_frees_its_slot() -> None:
    bench, grader = VerificationBench(), GraderOfTheFirst()
    bench.rewire(replace(bench.deps, grader=grader))
    headers = {"Authorization": "Bearer consumer:acme", "Content-Type": NDJSON}
    with served(Application(bench)) as url:
        async with httpx.AsyncClient(base_url=url, headers=headers) as client:
            body = lines_of(COMMON, {"output": "first"}, *[{"output": "later"}] * 500)
            for _ in range(MAX_BATCHES_PER_CONSUMER + 1):
                grader.outputs = grader.cancelled = 0
                async with client.stream("POST", "/v1/verify/batch", content=body) as answer:
                    lines = answer.aiter_lines()  # collected, it would close the answer
                    assert json.loads(await anext(lines))["index"] == 0
                    await until(lambda: grader.outputs == 128)
                await until(lambda: grader.cancelled == 3)


class Application:
    """The application of a bench, to be served on a port."""

    def __init__(self, bench: VerificationBench) -> None:
        self._bench = bench

    def app(self) -> Starlette:
        return application(self._bench)


class FragileGrader(EngineGrader):
    """Grader whose jobs of several candidates fail, and so does one output alone."""

    async def grade_together(self, requests: Sequence[GradeRequest]) -> list[Grade] | None:
        del requests
        return None

    async def grade(self, request: GradeRequest) -> Grade:
        return Grade(None, error="JobTimeout") if request.output == "slow" else await super().grade(request)


async def test_output_that_fails_its_job_fails_no_other() -> None:
    bench = VerificationBench()
    bench.rewire(replace(bench.deps, grader=FragileGrader()))
    texts = [{"output": {"text": "the cat sat"}}] * 5
    *answers, last = await answered(COMMON, *texts, {"output": "slow"}, *texts, bench=bench)
    assert [each["index"] for each in answers if "problem" in each] == [5]
    assert (answers[5]["problem"]["code"], answers[5]["problem"]["status"]) == ("verification_timed_out", 503)
    assert (last["summary"]["passed"], last["summary"]["indeterminate"]) == (10, 1)


@pytest.mark.parametrize("separator", [b"\r\n", b"\n"])
async def test_last_line_may_end_with_a_line_break(separator: bytes) -> None:
    body = separator.join([json.dumps(COMMON).encode(), b'{"output": {"text": "the cat sat"}}', b""])
    async with counter(VerificationBench()) as client:
        lines = (await post(client, body)).text.splitlines()
    assert [next(iter(json.loads(line))) for line in lines] == ["index", "summary"]


def test_api_document_describes_both_streams() -> None:
    operation = application(VerificationBench()).openapi()["paths"]["/v1/verify/batch"]["post"]
    assert list(operation["requestBody"]["content"]) == list(operation["responses"]["200"]["content"]) == [NDJSON]
    assert {"400", "401", "403", "413", "422", "429", "503"} <= set(operation["responses"])
