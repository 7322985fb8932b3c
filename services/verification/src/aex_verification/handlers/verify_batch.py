"""Grading of many outputs by the same criteria, in order, with a limited number in progress."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from dataclasses import dataclass

from aex_models.batch import MAX_OUTPUTS
from aex_models.results import VerificationResult
from aex_outcomes.engine.slow_metrics import has_slow_metric
from aex_outcomes.submission.batch import (
    MAX_GROUP,
    SharedBatchInput,
    check_batch_output,
    check_shared_input,
    divide_into_groups,
    read_line_id,
)
from aex_outcomes.submission.verify_request import VerifyRequest
from aex_runtime.errors import DomainError, InvalidRequest
from aex_runtime.http.body import HUGE_BYTES
from aex_runtime.http.strict_json import parse_strict_json
from aex_runtime.identity.principals import Principal
from aex_runtime.yielding import map_in_order
from aex_verification.deps import Deps
from aex_verification.handlers.verify_without_contract import (
    TIME_LIMIT_S,
    finish_result_or_raise,
    make_grade_request,
    make_refusal,
    require_valid_request,
)
from aex_verification.ports import Grade, GradeRequest

_GROUPS_IN_PROGRESS = 3
"""Groups that are checked or graded at once: one for each worker by default, and one that is ready."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch whose first line was checked."""

    common: SharedBatchInput
    common_bytes: int
    lines: Sequence[bytes]
    """The lines of the outputs."""


@dataclass(frozen=True, slots=True)
class LineOutcome:
    """The answer to one line: either a result or an error."""

    index: int
    id: str | int | None
    result: VerificationResult | None = None
    error: DomainError | None = None


@dataclass(frozen=True, slots=True)
class _CheckedLine:
    index: int
    id: str | int | None
    request: VerifyRequest | None = None
    candidate: str = ""
    error: DomainError | None = None


async def check_batch(deps: Deps, body: bytes, huge_body_lock: asyncio.Lock) -> Batch:
    """Divide the body into lines and check the first one.

    `huge_body_lock` is held while a line above `HUGE_BYTES` is parsed. Raises `InvalidRequest` or `Unprocessable` with
    all problems of the first line, and `InvalidRequest` for too many lines.
    """
    content = body.rstrip()
    if not content:
        raise InvalidRequest("empty_body", "a batch has a first line with success_criteria, and a line for each output")
    if content.count(b"\n") > MAX_OUTPUTS:
        limit = f"a batch has at most {MAX_OUTPUTS} outputs"
        raise InvalidRequest("too_many_outputs", f"{limit}; send the others in further batches")
    first, *lines = content.split(b"\n")
    async with _lock_if_huge([first], huge_body_lock):
        common = await asyncio.to_thread(lambda: check_shared_input(parse_strict_json(first), deps.catalog))
    if not isinstance(common, SharedBatchInput):
        raise make_refusal(common)
    return Batch(common, len(first), lines)


async def verify_batch(
    deps: Deps, consumer: Principal, batch: Batch, huge_body_lock: asyncio.Lock
) -> AsyncGenerator[Sequence[LineOutcome], None]:
    """Yield the outcomes of the lines in order, in groups, and grade the next groups meanwhile.

    An invalid line has an error, and so has one that the platform could not grade. Close the generator to stop grading.
    """
    is_slow = has_slow_metric(batch.common.request.success_criteria, deps.catalog)
    groups = divide_into_groups(batch.lines, batch.common_bytes, 1 if is_slow else MAX_GROUP)
    outcomes = map_in_order(
        lambda lines: _verify_group(deps, consumer, batch, lines, huge_body_lock), groups, _GROUPS_IN_PROGRESS
    )
    async with aclosing(outcomes) as listed:
        async for each in listed:
            yield each


async def _verify_group(
    deps: Deps, consumer: Principal, batch: Batch, lines: Mapping[int, bytes], huge_body_lock: asyncio.Lock
) -> list[LineOutcome]:
    async with _lock_if_huge(lines.values(), huge_body_lock):
        checked = await asyncio.to_thread(lambda: [_check_line(deps, batch, *each) for each in lines.items()])
    requests = {
        each.index: make_grade_request(consumer, each.request, deps.ids.new("att")) for each in checked if each.request
    }
    grades = dict(zip(requests, await _grade(deps, list(requests.values())), strict=True))
    return [
        _make_outcome(deps, each, requests[each.index], grades[each.index])
        if each.request
        else LineOutcome(each.index, each.id, error=each.error)
        for each in checked
    ]


def _lock_if_huge(lines: Iterable[bytes], lock: asyncio.Lock) -> AbstractAsyncContextManager[None]:
    return lock if any(len(line) > HUGE_BYTES for line in lines) else nullcontext()


def _check_line(deps: Deps, batch: Batch, index: int, line: bytes) -> _CheckedLine:
    identifier: str | int | None = None
    try:
        value = parse_strict_json(line)
        identifier = read_line_id(value)
        request, candidate = require_valid_request(check_batch_output(value, batch.common, deps.catalog))
    except DomainError as error:
        return _CheckedLine(index, identifier, error=error)
    return _CheckedLine(index, identifier, request, candidate)


async def _grade(deps: Deps, requests: Sequence[GradeRequest]) -> list[Grade]:
    """Grade outputs in one job, or each alone if that fails, so that one of them fails no other."""
    if len(requests) > 1:
        try:
            async with asyncio.timeout(TIME_LIMIT_S):
                together = await deps.grader.grade_together(requests)
        except TimeoutError:
            together = [Grade(None, error="JobTimeout")] * len(requests)
        if together is not None:
            return together
    return [await _grade_alone(deps, each) for each in requests]


async def _grade_alone(deps: Deps, request: GradeRequest) -> Grade:
    try:
        async with asyncio.timeout(TIME_LIMIT_S):
            return await deps.grader.grade(request)
    except TimeoutError:
        return Grade(None, error="JobTimeout")


def _make_outcome(deps: Deps, line: _CheckedLine, request: GradeRequest, grade: Grade) -> LineOutcome:
    try:
        result = finish_result_or_raise(deps, grade, request.attempt_id, line.candidate)
    except DomainError as error:
        return LineOutcome(line.index, line.id, error=error)
    return LineOutcome(line.index, line.id, result)
