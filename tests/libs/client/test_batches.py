import json
from collections.abc import Iterator
from typing import Any

import pytest

from aex_client import AnswerNotUnderstood, ConnectionFailed, Endpoints, InvalidRequest, VerifiedOutput
from aex_client.batches import BatchQueue
from aex_client.call import Call
from aex_models.batch import MAX_BATCH_BYTES, MAX_OUTPUTS, BatchOutput
from aex_models.results import Verdict
from aex_outcomes.batch_tally import BatchTally
from tests.libs.client.platform import Both, served
from tests.libs.client.streams import Connection, Script
from tests.libs.outcomes.test_batch_tally import WORDS, results

CRITERIA = {"criteria": [WORDS]}
RESULT = results("a b c", criteria=[WORDS])[0].model_dump(mode="json")
SUMMARY = BatchTally().summarize().model_dump(mode="json")


def answer(*lines: Any, **changes: Any) -> Connection:
    return Connection(tuple(f"{json.dumps(line)}\n" for line in lines), media_type="application/x-ndjson", **changes)


def result(index: int) -> dict[str, Any]:
    return {"index": index, "id": f"o{index}", "result": RESULT}


LAST = {"summary": SUMMARY}


def outputs(many: int) -> Iterator[dict[str, Any]]:
    return ({"id": f"o{number}", "output": {"text": "a b c"}} for number in range(many))


async def verify(both: Both, script: Script, listed: Any, **shared: Any) -> list[VerifiedOutput]:
    with served(script) as url:
        found: list[VerifiedOutput] = await both.call(Endpoints(*[url] * 4), "verify_batch", CRITERIA, listed, **shared)
        return found


async def test_results_and_problems_come_in_order(both: Both) -> None:
    problem = {"status": 503, "code": "verifier_busy", "detail": "busy", "errors": [], "retry_after_s": 2}
    script = Script([answer(result(0), {"index": 1, "id": 7, "problem": problem}, LAST)])
    listed = [BatchOutput(id="o0", output="a"), {"id": 7, "output": "b", "evaluation": {"reference": "b"}}]
    first, second = await verify(both, script, listed, evaluation={"reference": "a"}, platform_latency_ms=5)
    assert (first.index, first.id, first.problem) == (0, "o0", None)
    assert first.result is not None
    assert (first.result.verdict, first.result.weighted_score) == (Verdict.PASSED, 1.0)
    assert second.problem is not None
    assert (second.id, second.problem.code, second.problem.retryable, second.problem.retry_after_s) == (
        7, "verifier_busy", True, 2,
    )  # fmt: skip
    sent = [json.loads(line) for line in script.bodies[0].splitlines()]
    assert sent[0] == {"success_criteria": CRITERIA, "evaluation": {"reference": "a"}, "platform_latency_ms": 5}
    assert sent[1:] == [{"id": "o0", "output": "a"}, listed[1]]
    assert script.requested[0]["content-type"] == "application/x-ndjson"


async def test_many_outputs_are_sent_in_several_batches(both: Both) -> None:
    script = Script([answer(*map(result, range(MAX_OUTPUTS)), LAST), answer(result(0), LAST)])
    found = await verify(both, script, outputs(MAX_OUTPUTS + 1))
    assert [each.index for each in found] == list(range(MAX_OUTPUTS + 1))
    assert [body.count(b"\n") for body in script.bodies] == [MAX_OUTPUTS, 1]


def test_batches_end_at_ten_megabytes_and_larger_outputs_are_refused() -> None:
    sizes = [4_000_000, 4_000_000, 4_000_000, MAX_BATCH_BYTES, 1]
    queue = BatchQueue(b"{}", [{"id": number, "output": "x" * size} for number, size in enumerate(sizes)])
    taken = list(iter(queue.take_batch, None))
    bodies = [each.body if isinstance(each, Call) else None for each in taken]
    assert [body and body.count(b"\n") for body in bodies] == [2, 1, None, 1]
    assert all(len(body) <= MAX_BATCH_BYTES for body in bodies if body)
    refused = taken[2]
    assert isinstance(refused, VerifiedOutput)
    assert refused.problem is not None
    assert (refused.index, refused.id, refused.problem.status) == (3, 3, 413)


async def test_retry_after_a_broken_connection_has_the_outputs_without_answer(both: Both) -> None:
    script = Script([answer(result(0), broken=True), Connection(status=503), answer(result(0), result(1), LAST)])
    found = await verify(both, script, outputs(3))
    assert [(each.index, each.id is not None) for each in found] == [(0, True), (1, True), (2, True)]
    assert [body.count(b"\n") for body in script.bodies] == [3, 2, 2]


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ([Connection(status=400)], InvalidRequest),
        ([answer(result(0))], AnswerNotUnderstood),
        ([answer(LAST)], AnswerNotUnderstood),
        ([answer(result(1), LAST)], AnswerNotUnderstood),
        ([answer({"index": 0, "id": None}, LAST)], AnswerNotUnderstood),
        ([answer(broken=True)] * 5, ConnectionFailed),
    ],
)
async def test_refused_or_incomplete_answer_is_raised(
    both: Both, answers: list[Connection], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await verify(both, Script([*answers]), outputs(1))


async def test_no_outputs_need_no_request(both: Both) -> None:
    assert await verify(both, Script([]), []) == []
