"""Checks of a submitted work, and of a trial verification, which has only some of its fields."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from aex_models.criteria import SuccessCriteria
from aex_models.evaluation import Evaluation
from aex_models.science import Science
from aex_models.work import LintWarning, Problem, Quote, WorkSubmission
from aex_outcomes.catalog import Catalog
from aex_outcomes.submission.appraisal import Appraise, appraise_work
from aex_outcomes.submission.criteria import check_body_criteria, check_evaluation_data
from aex_outcomes.submission.findings import CheckFindings, classify_problems, convert_validation_error
from aex_outcomes.submission.science import check_science, drop_duplicate_name_problems
from aex_outcomes.submission.sizes import check_criteria_sizes, check_work_sizes

T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Checked:
    """Result of a check: the submission with warnings and quote, or its problems."""

    submission: WorkSubmission | None
    """Parsed submission; None if there are problems."""
    problems: tuple[Problem, ...] = ()
    warnings: tuple[LintWarning, ...] = ()
    quote: Quote | None = None
    only_shape: bool = False
    """True if all problems are of missing or wrong fields, and none is in `success_criteria`."""


def check_submission(
    body: Any,
    catalog: Catalog,
    *,
    verifiers: Collection[str] = (),
    has_reviewer: bool = False,
    needs_upload: bool = True,
    appraise: Appraise = appraise_work,
) -> Checked:
    """Check a submitted work, parsed from JSON, and appraise it if it has no problems.

    All problems are reported, without quoting values. `verifiers`: allowed names of `verification.verifier`.
    `has_reviewer`: peer reviews are available. `needs_upload`: `science.data` must name digests of uploads; else a file
    without a digest causes only a warning. `appraise`: function that returns warnings and quote, such as an
    `Appraisals`.
    """
    submission, findings = parse_body(body, WorkSubmission)
    if isinstance(body, Mapping):
        parsed = submission.success_criteria if submission else None
        findings += _semantic_findings(
            body, catalog, has_reviewer=has_reviewer, needs_upload=needs_upload, parsed=parsed
        )
        findings += CheckFindings((*_terms_problems(body, verifiers), *check_work_sizes(body, submission)))
    if submission is None or findings.problems:
        return Checked(None, findings.problems, only_shape=not findings.semantic)
    appraisal = appraise(body, submission, catalog)
    return Checked(submission, warnings=appraisal.warnings, quote=appraisal.quote)


def check_criteria(body: Mapping[str, Any], catalog: Catalog, *, has_reviewer: bool = False) -> CheckFindings:
    """Check `success_criteria`, `evaluation`, `science` and `input` of a body that is no submitted work."""
    models: dict[str, type[BaseModel]] = {
        "success_criteria": SuccessCriteria,
        "evaluation": Evaluation,
        "science": Science,
    }
    shape = [problem for name, model in models.items() for problem in _field_problems(body, name, model)]
    sizes = CheckFindings(tuple(check_criteria_sizes(body.get("success_criteria"))))
    return (
        classify_problems(drop_duplicate_name_problems(shape))
        + sizes
        + _semantic_findings(body, catalog, has_reviewer=has_reviewer, has_feedback=False)
    )


def _semantic_findings(
    body: Mapping[str, Any],
    catalog: Catalog,
    *,
    has_reviewer: bool,
    needs_upload: bool = True,
    has_feedback: bool = True,
    parsed: SuccessCriteria | None = None,
) -> CheckFindings:
    criteria = check_body_criteria(body, catalog, has_reviewer=has_reviewer, parsed=parsed)
    science = check_science(
        body, catalog, has_reviewer=has_reviewer, needs_upload=needs_upload, has_feedback=has_feedback
    )
    return CheckFindings((*criteria, *check_evaluation_data(body, catalog), *science))


def parse_body(body: Any, model: type[T]) -> tuple[T | None, CheckFindings]:
    """Validate a body into a model; return the model and no problems, or None and the problems."""
    try:
        return model.model_validate(body), CheckFindings()
    except ValidationError as error:
        return None, classify_problems(drop_duplicate_name_problems(convert_validation_error(error, body, model=model)))


def _field_problems(body: Mapping[str, Any], name: str, model: type[BaseModel]) -> list[Problem]:
    """Return the problems of an optional field of a body."""
    value = body.get(name)
    try:
        if value is not None:
            model.model_validate(value)
    except ValidationError as error:
        return convert_validation_error(error, value, f"/{name}", model=model)
    return []


def _terms_problems(body: Mapping[str, Any], verifiers: Collection[str]) -> Iterator[Problem]:
    budget, verification = body.get("budget"), body.get("verification")
    base_policy = budget.get("base_policy") if isinstance(budget, Mapping) else None
    if body.get("allow_claims") is True and base_policy != "on_success":
        message = "allow_claims requires budget.base_policy on_success: anyone may claim, so only success is paid"
        yield Problem(path="/allow_claims", code="claims_require_on_success", message=message)
    verifier = verification.get("verifier") if isinstance(verification, Mapping) else None
    if isinstance(verifier, str) and verifier not in verifiers:
        message = f"Unknown verifier; registered here: {', '.join(sorted(verifiers)) or 'none'}"
        yield Problem(path="/verification/verifier", code="unknown_verifier", message=message)
