"""Verdicts on a file of outputs by the same criteria, in order, with a limited number in progress."""

import sys
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from aex_cli.offline.documents import MAX_BYTES, STDIN, BadFile, InputDocument
from aex_cli.offline.inputs import find_criteria
from aex_cli.offline.work_files import (
    CRITERIA,
    FieldSource,
    FieldSources,
    extract_work_fields,
    find_unknown_fields,
)
from aex_models.canonical import NotCanonical
from aex_models.results import VerificationResult
from aex_models.work import Problem
from aex_outcomes.catalog import Catalog
from aex_outcomes.engine.local import LocalGrader, LostVerdict
from aex_outcomes.engine.slow_metrics import has_slow_metric
from aex_outcomes.lifecycle.outputs import candidate_hash
from aex_outcomes.submission.batch import (
    MAX_GROUP,
    SharedBatchInput,
    check_batch_output,
    check_shared_input,
    divide_into_groups,
    read_line_id,
)
from aex_outcomes.submission.verify_request import CheckedTrial, VerifyRequest
from aex_runtime.commandline import UserError
from aex_runtime.errors import InvalidRequest
from aex_runtime.http.strict_json import parse_strict_json
from aex_runtime.yielding import map_in_order

_ALONE = "verify each output alone, with --output"


@dataclass(frozen=True, slots=True)
class LineProblem:
    """The reason why a line has no verdict: it is no valid output, or its worker failed."""

    code: str
    message: str
    errors: tuple[Problem, ...] = ()
    by_platform: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the problem as a problem document has it (RFC 9457)."""
        status, title = (503, "Service Unavailable") if self.by_platform else (400, "Bad Request")
        named = {"type": f"urn:aex:problem:{self.code}", "title": title, "status": status}
        errors = [each.model_dump() for each in self.errors]
        return {**named, "detail": self.message, "code": self.code, "errors": errors, "request_id": ""}


@dataclass(frozen=True, slots=True)
class OfflineOutcome:
    """The answer to the line of an output: a verdict or a problem."""

    index: int
    id: str | int | None
    result: VerificationResult | None = None
    problem: LineProblem | None = None


def read_shared_input(
    files: Mapping[str, InputDocument | None], latency_ms: float | None, catalog: Catalog
) -> SharedBatchInput:
    """Combine the files with what all outputs share, and check it.

    `files`: the documents by option: criteria, work and metadata; None for an option that is not given. Raises
    `BadFile` with all problems, and `UserError` for a work that cannot be verified in batches.
    """
    work = extract_work_fields(files["work"])
    policy = work.get("verification")
    if work.get("science") is not None:
        raise UserError("the work has science, which is not verified in batches", _ALONE)
    if isinstance(policy, Mapping) and policy.get("verifier") is not None:
        raise UserError("the work names a verifier, which is not run in batches", _ALONE)
    criteria, source = find_criteria(files["criteria"], files["work"], work, required=True)
    metadata = files["metadata"]
    body: dict[str, Any] = {name: work[name] for name in ("input", "evaluation", "domain") if name in work}
    body |= {CRITERIA: criteria, "platform_latency_ms": latency_ms}
    body |= {} if metadata is None else {"execution_metadata": metadata.value}
    common = check_shared_input(body, catalog)
    problems = [*find_unknown_fields(work), *(() if isinstance(common, SharedBatchInput) else common.problems)]
    if problems or not isinstance(common, SharedBatchInput):
        parts = {CRITERIA: source, "execution_metadata": FieldSource("--metadata", metadata)}
        parts["platform_latency_ms"] = FieldSource("--platform-latency-ms", None)
        sources = FieldSources(parts, FieldSource("--work", files["work"]))
        raise BadFile([sources.prefix_with_location(each.path, each.message) for each in problems])
    return common


def read_output_lines(path: str) -> Iterator[bytes]:
    """Yield the lines of the file at `path`, of standard input for `-`, without empty ones at its end.

    A line above 10 MB is cut, which makes it invalid. Raises `UserError` if the file cannot be read.
    """
    if path == STDIN:
        yield from _split_lines(sys.stdin.buffer)
        return
    try:
        with Path(path).open("rb") as file:
            yield from _split_lines(file)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}", "check the path given to --outputs") from None


def _split_lines(file: BinaryIO) -> Iterator[bytes]:
    empty = 0
    while line := file.readline(MAX_BYTES + 1):
        is_cut = len(line) > MAX_BYTES
        while is_cut and (rest := file.readline(MAX_BYTES)) and not rest.endswith(b"\n"):
            pass
        if not line.strip():
            empty += 1
            continue
        yield from [b""] * empty
        empty = 0
        yield line


async def verify_lines(
    lines: Iterator[bytes], common: SharedBatchInput, catalog: Catalog, grader: LocalGrader, jobs: int
) -> AsyncGenerator[Sequence[OfflineOutcome], None]:
    """Yield the outcomes of the lines in order, in groups, with up to `jobs` + 1 groups in progress."""
    is_slow = has_slow_metric(common.request.success_criteria, catalog)
    groups = divide_into_groups(lines, 0, 1 if is_slow else MAX_GROUP)
    outcomes = map_in_order(lambda group: _verify_group(group, common, catalog, grader), groups, jobs + 1)
    async with aclosing(outcomes) as listed:
        async for each in listed:
            yield each


async def _verify_group(
    lines: Mapping[int, bytes], common: SharedBatchInput, catalog: Catalog, grader: LocalGrader
) -> list[OfflineOutcome]:
    outcomes: dict[int, OfflineOutcome] = {}
    valid: dict[int, tuple[VerifyRequest, str | int | None]] = {}
    for index, line in lines.items():
        checked, identifier = _check_line(line, common, catalog)
        if isinstance(checked, LineProblem):
            outcomes[index] = OfflineOutcome(index, identifier, problem=checked)
        else:
            valid[index] = checked, identifier
    graded = await grader.grade([request for request, _ in valid.values()]) if valid else []
    for (index, (_, identifier)), each in zip(valid.items(), graded, strict=True):
        outcomes[index] = _make_outcome(index, identifier, each)
    return [outcomes[index] for index in lines]


def _check_line(
    line: bytes, common: SharedBatchInput, catalog: Catalog
) -> tuple[VerifyRequest | LineProblem, str | int | None]:
    """Return the request that a line makes, or its problem, and its id."""
    try:
        value = parse_strict_json(line)
    except InvalidRequest as error:
        return LineProblem(error.code, error.message, error.errors), None
    return _require_valid(check_batch_output(value, common, catalog)), read_line_id(value)


def _require_valid(checked: CheckedTrial[VerifyRequest]) -> VerifyRequest | LineProblem:
    if checked.request is None:
        return LineProblem("invalid_verification", checked.problems[0].message, checked.problems)
    try:
        candidate_hash(checked.request)
    except NotCanonical as error:
        problem = Problem(path=error.path, code="not_canonical", message=error.problem)
        return LineProblem("not_canonical", error.problem, (problem,))
    return checked.request


def _make_outcome(index: int, identifier: str | int | None, graded: VerificationResult | LostVerdict) -> OfflineOutcome:
    if isinstance(graded, LostVerdict):
        return OfflineOutcome(
            index, identifier, problem=LineProblem("verification_lost", graded.reason, by_platform=True)
        )
    return OfflineOutcome(index, identifier, graded)
