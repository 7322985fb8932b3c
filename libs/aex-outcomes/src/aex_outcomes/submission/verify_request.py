"""Trial verification without a contract: criteria, evaluation data, science and output in one body."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

from pydantic import Field

from aex_models.contract import Artifact, Candidate
from aex_models.criteria import SuccessCriteria
from aex_models.evaluation import Evaluation
from aex_models.science import Science
from aex_models.work import GENERAL, Problem, WorkDomain
from aex_outcomes.catalog import Catalog
from aex_outcomes.submission.check import check_criteria, parse_body
from aex_outcomes.submission.findings import CRITERIA, CheckFindings
from aex_outcomes.submission.science import check_data_files, list_first_items


class Trial(Candidate):
    """Candidate with everything that its verification needs, without a contract."""

    success_criteria: SuccessCriteria | None = None
    input: dict[str, Any] = {}
    evaluation: Evaluation | None = None
    domain: WorkDomain = GENERAL
    """Domain of the work, which applies if `science` names none."""
    science: Science | None = None
    platform_latency_ms: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """Latency that the platform would have measured; criteria on `platform_latency_ms` need it."""


class VerifyRequest(Trial):
    """Body of `POST /v1/verify`, whose artifacts and `data` have their content; uploads are refused."""

    success_criteria: SuccessCriteria | None = None
    """Optional with `science`."""
    data: Annotated[tuple[Artifact, ...], Field(max_length=10)] = ()
    """The consumer's own raw data, which recomputation prefers to the artifacts."""


T = TypeVar("T", bound=Trial)
_MAX_CHECKED = 50


@dataclass(frozen=True, slots=True)
class CheckedTrial(Generic[T]):
    """Result of a check: the request, or its problems."""

    request: T | None
    """Parsed request; None if there are problems."""
    problems: tuple[Problem, ...] = ()
    only_shape: bool = False
    """True if all problems are of missing or wrong fields, and none is in `success_criteria`."""


def check_verify_request(body: Any, catalog: Catalog, *, has_reviewer: bool = False) -> CheckedTrial[VerifyRequest]:
    """Check a body of `POST /v1/verify`, parsed from JSON, and report all problems without quoting values.

    `has_reviewer`: peer reviews are available.
    """
    return check_trial(body, catalog, VerifyRequest, has_reviewer=has_reviewer)


def check_trial(body: Any, catalog: Catalog, trial_type: type[T], *, has_reviewer: bool = False) -> CheckedTrial[T]:
    """Check a trial verification's body, parsed from JSON, against a model; see `check_verify_request`.

    Only a `VerifyRequest` must have criteria or `science`, and is checked for its `data`.
    """
    request, findings = parse_trial_body(body, catalog, trial_type, has_reviewer=has_reviewer)
    if request is None or findings.problems:
        return CheckedTrial(None, findings.problems, only_shape=not findings.semantic)
    return CheckedTrial(request)


def parse_trial_body(
    body: Any, catalog: Catalog, trial_type: type[T], *, has_reviewer: bool = False
) -> tuple[T | None, CheckFindings]:
    """Parse the body of a trial verification; return its model, None for a wrong shape, and all problems."""
    request, findings = parse_body(body, trial_type)
    if isinstance(body, Mapping):
        findings += check_criteria(body, catalog, has_reviewer=has_reviewer)
        findings += CheckFindings(
            (*_upload_problems(body, "artifacts"), *(_request_problems(body) if trial_type is VerifyRequest else ()))
        )
    return request, findings


def _upload_problems(body: Mapping[str, Any], part: str) -> Iterator[Problem]:
    """Yield a problem for each of the first files that has a `sha256`: a trial has no uploads to refer to."""
    for position, each in enumerate(list_first_items(body, part)[:_MAX_CHECKED]):
        if isinstance(each, Mapping) and each.get("sha256") is not None:
            message = "There are no uploads here: give content or content_base64"
            yield Problem(path=f"/{part}/{position}/sha256", code="artifact_not_inline", message=message)


def _request_problems(body: Mapping[str, Any]) -> Iterator[Problem]:
    if body.get("success_criteria") is None and body.get("science") is None:
        message = "Field required: criteria, or science, by which the output is judged"
        yield Problem(path=CRITERIA, code="missing", message=message)
    yield from _upload_problems(body, "data")
    listed = list_first_items(body, "data")[:_MAX_CHECKED]
    named = [isinstance(each, Mapping) and isinstance(each.get("name"), str) for each in listed]
    files = [each if is_named else None for each, is_named in zip(listed, named, strict=True)]
    yield from check_data_files(files, "/data", needs_upload=False)
    science = body.get("science")
    if isinstance(science, Mapping) and science.get("data"):
        message = "There are no uploads here: leave science.data out, and send the files inline in data, beside science"
        yield Problem(path="/science/data", code="data_not_inline", message=message)
