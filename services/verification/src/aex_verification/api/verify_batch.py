"""Route that grades many outputs by the same criteria, streamed in both directions as lines of JSON."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import StreamingResponse

from aex_models.audiences import Audience, Disclosure, project
from aex_models.batch import MAX_BATCH_BYTES, MAX_OUTPUTS
from aex_outcomes.batch_tally import BatchTally
from aex_runtime.errors import InvalidRequest, TemporarilyUnavailable, TooLarge
from aex_runtime.http.auth import Allow, Principal
from aex_runtime.http.body import MemoryBudget, MemoryReservation
from aex_runtime.http.limits import ConcurrencyLimiter
from aex_runtime.http.problems import build_domain_problem, openapi_criteria_responses
from aex_runtime.http.routing import service_router
from aex_runtime.http.streaming import Download
from aex_runtime.http.upload import content_length, parse_media_type, read_body
from aex_verification.deps import Deps
from aex_verification.handlers.verify_batch import Batch, LineOutcome, check_batch, verify_batch
from aex_verification.rules.outcomes import MEDIA_TYPE

Consumer = Annotated[Principal, Depends(Allow("consumer"))]

MAX_BATCHES_PER_CONSUMER, MAX_BATCHES = 2, 8
"""Limits of concurrent batches in one process: per consumer and in total."""
_MEDIA_TYPES = (MEDIA_TYPE, "application/ndjson", "application/jsonl", "application/x-jsonlines")
_JSON = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
"""JSON encoder that writes only ASCII, because some readers end a line at U+2028."""
_OWN_OUTPUT = Disclosure(output=True)
_FIRST = (
    '{"success_criteria":{"criteria":[{"metric":"word_count","metric_type":"count","comparison":"gte","threshold":3}]}}'
)
_OUTPUTS = '{"id":"a","output":{"text":"one two three"}}\n{"id":"b","output":{"text":"one"}}\n'
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": f"First a line with the members of `VerifyRequest` but `output` and `science`, then up to "
        f"{MAX_OUTPUTS:,} lines `{{id?, output, execution_metadata?, evaluation?}}`. An `id` is a text of at most 200 "
        f"characters or an integer. {MAX_BATCH_BYTES // 1_000_000} MB in all.",
        "content": {MEDIA_TYPE: {"schema": {"type": "string"}, "example": f"{_FIRST}\n{_OUTPUTS}"}},
    }
}
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A line for each output in their order, `{index, id, result}` with a `VerificationResult` or "
        "`{index, id, problem}` with a problem document, `index` from 0. The last line is `{summary}`: `outputs`, "
        "`passed`, `rejected`, `indeterminate`, `problems`, `pass_rate`, `mean_weighted_score`, `criteria`",
        "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
    }
}


def batch_routes(deps: Deps) -> APIRouter:
    """Return a router with the route `/verify/batch`."""
    router = service_router("/v1", tags=["verify"])
    limiter = ConcurrencyLimiter(MAX_BATCHES_PER_CONSUMER, MAX_BATCHES, "batches", "verifier_busy")

    async def body_reservation(request: Request, consumer: Consumer) -> AsyncIterator[MemoryReservation]:
        # Held until the answer has been sent to its end, or its reader has disconnected.
        budget: MemoryBudget = request.app.state.memory_budget
        with limiter.acquire(consumer.id), budget.reserve(f"batches of {consumer.id}") as reservation:
            yield reservation

    @router.post(
        "/verify/batch",
        summary="Try criteria on many outputs, store nothing",
        response_class=StreamingResponse,
        responses={**_RESPONSES, **openapi_criteria_responses()},
        openapi_extra=_BODY,
    )
    async def post_batch(
        request: Request, consumer: Consumer, reservation: Annotated[MemoryReservation, Depends(body_reservation)]
    ) -> Download:
        """Return for each output the verdict that `POST /v1/verify` would return, in order, as they come.

        Members of an output's `execution_metadata` and `evaluation` replace those of the first line. A line that is no
        valid output has a problem, and the others go on. The work ends when the reader disconnects. An answer without
        its last line, the summary, is not complete.
        """
        body = await _read_batch_body(request, reservation)
        batch = await check_batch(deps, body, request.app.state.memory_budget.huge_body_lock)
        return Download(_answer_lines(deps, consumer, batch, request), media_type=MEDIA_TYPE)

    return router


async def _read_batch_body(request: Request, reservation: MemoryReservation) -> bytes:
    if parse_media_type(request.headers.get("content-type")).get_content_type() not in _MEDIA_TYPES:
        raise InvalidRequest("unsupported_media_type", f"the body must be {MEDIA_TYPE}: a JSON object on each line")
    too_large = TooLarge("body_too_large", f"a batch has at most {MAX_BATCH_BYTES // 1_000_000} MB; divide it")
    if (content_length(request) or 0) > MAX_BATCH_BYTES:
        raise too_large
    return await read_body(request, MAX_BATCH_BYTES, too_large, reservation.resize_to_body)


async def _answer_lines(deps: Deps, consumer: Principal, batch: Batch, request: Request) -> AsyncGenerator[bytes, None]:
    tally = BatchTally()
    outcomes = verify_batch(deps, consumer, batch, request.app.state.memory_budget.huge_body_lock)
    async with aclosing(outcomes) as groups:
        async for group in groups:
            for each in group:
                _count(tally, each)
            yield b"".join(_encode_line(_render_outcome(each, request)) for each in group)
    yield _encode_line({"summary": project(tally.summarize(), Audience.CONSUMER, _OWN_OUTPUT)})


def _encode_line(value: dict[str, Any]) -> bytes:
    return f"{_JSON(value)}\n".encode()


def _count(tally: BatchTally, outcome: LineOutcome) -> None:
    if outcome.result is not None:
        tally.count_result(outcome.result)
    else:
        tally.count_problem(by_platform=isinstance(outcome.error, TemporarilyUnavailable))


def _render_outcome(outcome: LineOutcome, request: Request) -> dict[str, Any]:
    line: dict[str, Any] = {"index": outcome.index, "id": outcome.id}
    if outcome.result is not None:
        return {**line, "result": project(outcome.result, Audience.CONSUMER, _OWN_OUTPUT)}
    if outcome.error is None:
        raise ValueError("an outcome has a result or an error")
    return {**line, "problem": build_domain_problem(request, outcome.error)}
