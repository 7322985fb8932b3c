"""The check of a whole submission, and of the part of it that a trial verification has."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from aex_models.criteria import SuccessCriteria
from aex_models.science import Science
from aex_models.work import Evaluation, LintWarning, Problem, Quote, WorkSubmission
from aex_outcomes.catalog import Catalog
from aex_outcomes.submission.appraisal import Appraise, appraised
from aex_outcomes.submission.criteria import criteria_problems, evaluation_problems
from aex_outcomes.submission.findings import Findings, problems_of, sorted_by_kind
from aex_outcomes.submission.science import not_said_better, science_problems


@dataclass(frozen=True, slots=True)
class Checked:
    """A submission, checked: usable, or with everything that is wrong with it."""

    submission: WorkSubmission | None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[LintWarning, ...] = ()
    quote: Quote | None = None
    only_shape: bool = False
    """Whether all problems are of shape, outside `success_criteria`."""


def check_submission(
    body: Any,
    catalog: Catalog,
    *,
    verifiers: Collection[str] = (),
    reviewer: bool = False,
    uploaded: bool = True,
    appraise: Appraise = appraised,
) -> Checked:
    """Check a body as it was parsed from JSON. All its problems are found at once, and no value is quoted.

    `verifiers`: the names that `verification.verifier` may take. `reviewer`: whether there is one for peer reviews.
    `uploaded`: whether `science.data` have to be uploaded by now; else one that has no digest is but warned of.
    `appraise` finds warnings and quote: for whoever is asked of many works, an `Appraisals` of the same catalogue.
    With no problem there are warnings and a quote.
    """
    submission, findings = _shaped(body)
    if isinstance(body, Mapping):
        read = submission.success_criteria if submission else None
        findings += _sense(body, catalog, reviewer=reviewer, uploaded=uploaded, read=read)
        findings += Findings(tuple(_terms(body, verifiers)))
    if submission is None or findings.problems:
        return Checked(None, findings.problems, only_shape=not findings.semantic)
    appraisal = appraise(body, submission, catalog)
    return Checked(submission, warnings=appraisal.warnings, quote=appraisal.quote)


def check_criteria(body: Mapping[str, Any], catalog: Catalog, *, reviewer: bool = False) -> Findings:
    """The same checks for `success_criteria`, `evaluation`, `science` and `input` of a body that is no submission."""
    shape = [
        *_field_problems(body, "success_criteria", SuccessCriteria),
        *_field_problems(body, "evaluation", Evaluation),
        *_field_problems(body, "science", Science),
    ]
    return sorted_by_kind(not_said_better(shape)) + _sense(body, catalog, reviewer=reviewer)


def _sense(
    body: Mapping[str, Any],
    catalog: Catalog,
    *,
    reviewer: bool,
    uploaded: bool = True,
    read: SuccessCriteria | None = None,
) -> Findings:
    return Findings(
        (
            *criteria_problems(body, catalog, reviewer=reviewer, read=read),
            *evaluation_problems(body, catalog),
            *science_problems(body, catalog, reviewer=reviewer, uploaded=uploaded),
        )
    )


def _shaped(body: Any) -> tuple[WorkSubmission | None, Findings]:
    try:
        return WorkSubmission.model_validate(body), Findings()
    except ValidationError as error:
        return None, sorted_by_kind(not_said_better(problems_of(error, body)))


def _field_problems(body: Mapping[str, Any], name: str, model: type[BaseModel]) -> list[Problem]:
    """What is wrong with a field that may be left out, or null."""
    value = body.get(name)
    try:
        if value is not None:
            model.model_validate(value)
    except ValidationError as error:
        return problems_of(error, value, f"/{name}")
    return []


def _terms(body: Mapping[str, Any], verifiers: Collection[str]) -> Iterator[Problem]:
    """What the parts of a work demand of each other."""
    budget, verification = body.get("budget"), body.get("verification")
    base_policy = budget.get("base_policy") if isinstance(budget, Mapping) else None
    if body.get("allow_claims") is True and base_policy != "on_success":
        message = "allow_claims requires budget.base_policy on_success: anyone may claim, so only success is paid"
        yield Problem(path="/allow_claims", code="claims_require_on_success", message=message)
    verifier = verification.get("verifier") if isinstance(verification, Mapping) else None
    if isinstance(verifier, str) and verifier not in verifiers:
        known = ", ".join(sorted(verifiers)) or "none"
        message = f"Unknown verifier; registered here: {known}"
        yield Problem(path="/verification/verifier", code="unknown_verifier", message=message)
