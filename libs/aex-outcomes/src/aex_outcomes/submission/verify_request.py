"""A candidate to be judged without a contract: criteria, evaluation data and output in one body."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, ValidationError

from aex_models.contract import ExecutionMetadata
from aex_models.criteria import SuccessCriteria
from aex_models.frozen import Frozen
from aex_models.work import Evaluation, Problem
from aex_outcomes.catalog import Catalog
from aex_outcomes.submission.check import check_criteria
from aex_outcomes.submission.findings import Findings, problems_of, sorted_by_kind


class VerifyRequest(Frozen):
    """What `POST /v1/verify` takes, and what `aex verify` makes of its files."""

    success_criteria: SuccessCriteria
    input: dict[str, Any] = {}
    evaluation: Evaluation | None = None
    output: Any
    """The candidate's output, any JSON."""
    execution_metadata: ExecutionMetadata = ExecutionMetadata()
    """What the agent would say about how it worked: `duration_ms` and the like."""
    platform_latency_ms: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """What the platform would have measured; without it, criteria on `platform_latency_ms` cannot be judged."""


@dataclass(frozen=True, slots=True)
class CheckedRequest:
    """A request, checked: usable, or with everything that is wrong with it."""

    request: VerifyRequest | None
    problems: tuple[Problem, ...] = ()
    only_shape: bool = False
    """Whether all problems are of shape, outside `success_criteria`."""


def check_verify_request(body: Any, catalog: Catalog) -> CheckedRequest:
    """Check a body as it was parsed from JSON. All its problems are found at once, and no value is quoted."""
    request, findings = _shaped(body)
    if isinstance(body, Mapping):
        findings += check_criteria(body, catalog)
    if request is None or findings.problems:
        return CheckedRequest(None, findings.problems, only_shape=not findings.semantic)
    return CheckedRequest(request)


def _shaped(body: Any) -> tuple[VerifyRequest | None, Findings]:
    try:
        return VerifyRequest.model_validate(body), Findings()
    except ValidationError as error:
        return None, sorted_by_kind(problems_of(error, body))
