"""A candidate to be judged without a contract: criteria, evaluation data, science and output in one body."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

from pydantic import Field, ValidationError

from aex_models.contract import Artifact, Candidate
from aex_models.criteria import SuccessCriteria
from aex_models.science import Science
from aex_models.work import GENERAL, Evaluation, Problem, WorkDomain
from aex_outcomes.catalog import Catalog
from aex_outcomes.submission.check import check_criteria
from aex_outcomes.submission.findings import CRITERIA, Findings, problems_of, sorted_by_kind
from aex_outcomes.submission.science import not_said_better, unreadable


class Trial(Candidate):
    """A candidate, and all that judging it takes but a contract."""

    success_criteria: SuccessCriteria | None = None
    input: dict[str, Any] = {}
    evaluation: Evaluation | None = None
    domain: WorkDomain = GENERAL
    """The work's: where `science` names none, this one, if there are ranges for it."""
    science: Science | None = None
    platform_latency_ms: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """What the platform would have measured; without it, criteria on `platform_latency_ms` cannot be judged."""


class VerifyRequest(Trial):
    """What `POST /v1/verify` takes. No file is kept for it: artifacts and `data` are inline, and those of `science`,
    which name uploads, are none here."""

    success_criteria: SuccessCriteria | None = None
    """May be left out where `science` decides."""
    data: Annotated[tuple[Artifact, ...], Field(max_length=10)] = ()
    """The consumer's own raw data, inline: recomputation prefers them to the artifacts."""


T = TypeVar("T", bound=Trial)
_MAX_LOOKED_AT = 50


@dataclass(frozen=True, slots=True)
class CheckedTrial(Generic[T]):
    """A request, checked: usable, or with everything that is wrong with it."""

    request: T | None
    problems: tuple[Problem, ...] = ()
    only_shape: bool = False
    """Whether all problems are of shape, outside `success_criteria`."""


def check_verify_request(body: Any, catalog: Catalog, *, reviewer: bool = False) -> CheckedTrial[VerifyRequest]:
    """Check a body as it was parsed from JSON. All its problems are found at once, and no value is quoted.

    `reviewer`: whether there is one for peer reviews.
    """
    return check_trial(body, catalog, VerifyRequest, reviewer=reviewer)


def check_trial(body: Any, catalog: Catalog, kind: type[T], *, reviewer: bool = False) -> CheckedTrial[T]:
    """The same for a trial of any kind; one that is no `VerifyRequest` may name `data`, for its caller to find."""
    request, findings = _shaped(body, kind)
    if isinstance(body, Mapping):
        findings += check_criteria(body, catalog, reviewer=reviewer)
        findings += Findings((*_uploads(body, "artifacts"), *(_of_request(body) if kind is VerifyRequest else ())))
    if request is None or findings.problems:
        return CheckedTrial(None, findings.problems, only_shape=not findings.semantic)
    return CheckedTrial(request)


def _uploads(body: Mapping[str, Any], part: str) -> Iterator[Problem]:
    """Files by digest: uploads belong to works and contracts."""
    for position, each in enumerate(_listed(body, part)):
        if isinstance(each, Mapping) and each.get("sha256") is not None:
            message = "There are no uploads here: give content or content_base64"
            yield Problem(path=f"/{part}/{position}/sha256", code="artifact_not_inline", message=message)


def _of_request(body: Mapping[str, Any]) -> Iterator[Problem]:
    if body.get("success_criteria") is None and body.get("science") is None:
        message = "Field required: criteria, or science, by which the output is judged"
        yield Problem(path=CRITERIA, code="missing", message=message)
    yield from _data(body)


def _data(body: Mapping[str, Any]) -> Iterator[Problem]:
    """The consumer's own: inline, each with a name of its own, and of a kind that is read."""
    yield from _uploads(body, "data")
    first_of: dict[str, int] = {}
    for position, each in enumerate(_listed(body, "data")):
        name = each.get("name") if isinstance(each, Mapping) else None
        if not isinstance(name, str):
            continue
        yield from unreadable(each, f"/data/{position}")
        first = first_of.setdefault(name, position)
        if first != position:
            message = f"Files {first} and {position} have the same name"
            yield Problem(path=f"/data/{position}/name", code="duplicate_file", message=message)
    science = body.get("science")
    if isinstance(science, Mapping) and science.get("data"):
        message = "There are no uploads here: leave science.data out, and send the files inline in data, beside science"
        yield Problem(path="/science/data", code="data_not_inline", message=message)


def _listed(body: Mapping[str, Any], part: str) -> Sequence[Any]:
    listed = body.get(part)
    return listed[:_MAX_LOOKED_AT] if isinstance(listed, list | tuple) else ()


def _shaped(body: Any, kind: type[T]) -> tuple[T | None, Findings]:
    try:
        return kind.model_validate(body), Findings()
    except ValidationError as error:
        return None, sorted_by_kind(not_said_better(problems_of(error, body)))
