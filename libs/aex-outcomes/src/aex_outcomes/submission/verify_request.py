"""A candidate to be judged without a contract: criteria, evaluation data and output in one body."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

from pydantic import Field, ValidationError

from aex_models.contract import ExecutionMetadata
from aex_models.criteria import SuccessCriteria
from aex_models.frozen import Frozen
from aex_models.work import Evaluation, Problem
from aex_outcomes.catalog import Catalog
from aex_outcomes.submission.check import check_criteria
from aex_outcomes.submission.findings import Findings, problems_of, sorted_by_kind


class Trial(Frozen):
    """A candidate, and all that judging it takes but a contract."""

    success_criteria: SuccessCriteria | None = None
    input: dict[str, Any] = {}
    evaluation: Evaluation | None = None
    output: Any
    """The candidate's output, any JSON."""
    execution_metadata: ExecutionMetadata = ExecutionMetadata()
    """What the agent would say about how it worked: `duration_ms` and the like."""
    platform_latency_ms: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """What the platform would have measured; without it, criteria on `platform_latency_ms` cannot be judged."""


class VerifyRequest(Trial):
    """What `POST /v1/verify` takes: criteria alone decide there."""

    success_criteria: SuccessCriteria


T = TypeVar("T", bound=Trial)


@dataclass(frozen=True, slots=True)
class CheckedTrial(Generic[T]):
    """A request, checked: usable, or with everything that is wrong with it."""

    request: T | None
    problems: tuple[Problem, ...] = ()
    only_shape: bool = False
    """Whether all problems are of shape, outside `success_criteria`."""


def check_verify_request(body: Any, catalog: Catalog) -> CheckedTrial[VerifyRequest]:
    """Check a body as it was parsed from JSON. All its problems are found at once, and no value is quoted."""
    return check_trial(body, catalog, VerifyRequest)


def check_trial(body: Any, catalog: Catalog, kind: type[T]) -> CheckedTrial[T]:
    """The same for a trial of any kind."""
    request, findings = _shaped(body, kind)
    if isinstance(body, Mapping):
        findings += check_criteria(body, catalog)
    if request is None or findings.problems:
        return CheckedTrial(None, findings.problems, only_shape=not findings.semantic)
    return CheckedTrial(request)


def _shaped(body: Any, kind: type[T]) -> tuple[T | None, Findings]:
    try:
        return kind.model_validate(body), Findings()
    except ValidationError as error:
        return None, sorted_by_kind(problems_of(error, body))
