"""Check of a batch verification: the first line that all outputs share, and the line of each output."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from aex_models.batch import BatchOutput
from aex_models.work import Problem
from aex_outcomes.catalog import Catalog
from aex_outcomes.submission.check import parse_body
from aex_outcomes.submission.findings import CRITERIA, CheckFindings
from aex_outcomes.submission.verify_request import (
    CheckedTrial,
    VerifyRequest,
    check_verify_request,
    parse_trial_body,
)

MAX_GROUP = 32
"""Maximum of outputs that are graded in one job."""
_MAX_GROUP_BYTES = 2_000_000
_OF_EACH_OUTPUT = "evaluation_missing"
"""Code of the only problem of the first line that a later line may solve."""
_NO_CRITERIA = Problem(path=CRITERIA, code="missing", message="Field required: the criteria of all outputs")
_REFUSED = {
    "output": ("extra_forbidden", "The first line holds what all outputs share; each further line has an output"),
    "science": ("science_in_batch", "Science is not verified in batches; send each output to POST /v1/verify"),
}


@dataclass(frozen=True, slots=True)
class SharedBatchInput:
    """The first line of a batch, checked: what all outputs share."""

    body: Mapping[str, Any]
    """The line as it was sent."""
    request: VerifyRequest
    """The line as a request with the output None."""
    is_complete: bool
    """True if the criteria need no evaluation data but those of this line."""


def divide_into_groups(lines: Iterable[bytes], common_bytes: int, max_group: int) -> Iterator[Mapping[int, bytes]]:
    """Yield the lines of outputs by index, in groups that are graded in one job.

    A group has at most `max_group` lines, and 2 MB with the first line of `common_bytes` bytes beside each.
    """
    group: dict[int, bytes] = {}
    size = 0
    for index, line in enumerate(lines):
        line_bytes = len(line) + common_bytes
        if group and (len(group) == max_group or size + line_bytes > _MAX_GROUP_BYTES):
            yield group
            group, size = {}, 0
        group[index] = line
        size += line_bytes
    if group:
        yield group


def read_line_id(line: Any) -> str | int | None:
    """Return the id of a valid or invalid line; None if the line has no valid id."""
    found = line.get("id") if isinstance(line, Mapping) else None
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


def check_shared_input(body: Any, catalog: Catalog) -> SharedBatchInput | CheckedTrial[VerifyRequest]:
    """Check the first line of a batch, parsed from JSON; return it, or all its problems.

    It has the fields of a `VerifyRequest` without `output` and `science`. Evaluation data may be missing, because each
    output may bring its own.
    """
    refused = CheckFindings(shape=tuple(_refused_fields(body)))
    shared = {**body, **dict.fromkeys(_REFUSED)} if isinstance(body, Mapping) else body
    request, found = parse_trial_body(shared, catalog, VerifyRequest)
    semantic = [each for each in found.semantic if each.code != _OF_EACH_OUTPUT]
    kept = tuple(_NO_CRITERIA if (each.path, each.code) == (CRITERIA, "missing") else each for each in semantic)
    fatal = CheckFindings(kept, found.shape) + refused
    if request is None or fatal.problems:
        return CheckedTrial(None, fatal.problems, only_shape=not fatal.semantic)
    return SharedBatchInput(shared, request, is_complete=len(fatal.semantic) == len(found.semantic))


def check_batch_output(line: Any, common: SharedBatchInput, catalog: Catalog) -> CheckedTrial[VerifyRequest]:
    """Check the line of one output, parsed from JSON, and combine it with the first line to a request.

    Pointers of problems are those of the line. Problems of evaluation data are also found in both lines together.
    """
    output, findings = parse_body(line, BatchOutput)
    if output is None:
        return CheckedTrial(None, findings.problems, only_shape=True)
    metadata = line.get("execution_metadata")
    if not output.evaluation and common.is_complete:
        shared = common.request.execution_metadata
        merged = shared.model_validate(_overlay(common.body, "execution_metadata", metadata)) if metadata else shared
        return CheckedTrial(common.request.model_copy(update={"output": output.output, "execution_metadata": merged}))
    body = {
        **common.body,
        "output": output.output,
        "execution_metadata": _overlay(common.body, "execution_metadata", metadata),
        "evaluation": _overlay(common.body, "evaluation", output.evaluation),
    }
    return check_verify_request(body, catalog)


def _overlay(body: Mapping[str, Any], name: str, own: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the mapping `name` of the first line with the members of the output's own mapping."""
    return {**(body.get(name) or {}), **(own or {})}


def _refused_fields(body: Any) -> list[Problem]:
    present = [name for name in _REFUSED if isinstance(body, Mapping) and name in body]
    return [Problem(path=f"/{name}", code=_REFUSED[name][0], message=_REFUSED[name][1]) for name in present]
