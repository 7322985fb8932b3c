"""Linting of files with criteria or works, with dry runs of custom code and of the reference."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from aex_cli.offline.documents import InputDocument
from aex_cli.offline.jobs import NoVerdict, build_engine_job_limits, run_confined_job
from aex_cli.offline.work_files import (
    CRITERIA,
    FieldSource,
    FieldSources,
    extract_criteria,
    extract_work_fields,
    find_unknown_fields,
)
from aex_models.criteria import SuccessCriteria
from aex_models.evaluation import Evaluation
from aex_models.work import LintWarning, Problem, Quote, WorkSubmission, WorkValidation
from aex_outcomes.catalog import Catalog
from aex_outcomes.engine.slow_metrics import compute_max_dry_run_seconds
from aex_outcomes.extractors.text_quality import read_references
from aex_outcomes.lifecycle.registry import list_enabled_verifier_names
from aex_outcomes.linter import lint
from aex_outcomes.submission import check_submission
from aex_runtime.commandline import print_error

REFERENCE_JOB = "aex_outcomes.reference_check:check_references_against_criteria"
CODE_JOB = "aex_outcomes.sandbox.dry_run:dry_run"
_ASSUMED: Mapping[str, Any] = {"title": "untitled", "budget": {"max_cpc": 0}}
"""Values for required fields of a work that linting its criteria does not need."""
_NEEDS_WORK = frozenset({"evaluation_missing", "science_missing", "check_missing"})


@dataclass(frozen=True, slots=True)
class LintReport:
    """The result of linting: problems, warnings and quote, and the files that its paths point into."""

    validation: WorkValidation
    sources: FieldSources


def lint_files(
    criteria: InputDocument, work: InputDocument | None, catalog: Catalog, *, only_known_verifiers: bool
) -> LintReport:
    """Lint success criteria, alone or with their work. `criteria` may itself be a work with criteria.

    Without a work, missing evaluation data and science are no problems; without a budget there is no quote. Data need
    not be uploaded yet.
    `only_known_verifiers`: if True, a work must name a verifier of the catalog. If False, an unknown name only prints
    a note.
    Raises `UserError` for a file that holds neither criteria nor a work.
    """
    criteria_value, source = extract_criteria(criteria)
    work_document = work or (criteria if source.pointer else None)
    fields = extract_work_fields(work_document)
    known = {name: value for name, value in fields.items() if name in WorkSubmission.model_fields}
    body = {**_ASSUMED, **known, CRITERIA: criteria_value}
    verifiers = _known_verifiers(known, catalog, only_known_verifiers=only_known_verifiers)
    checked = check_submission(body, catalog, verifiers=verifiers, has_reviewer=True, needs_upload=False)
    relevant = [each for each in checked.problems if work_document or each.code not in _NEEDS_WORK]
    problems = (*find_unknown_fields(fields), *relevant)
    if problems:
        validation = WorkValidation(valid=False, problems=problems)
    elif checked.submission is None:  # only the work is missing
        warnings = lint(SuccessCriteria.model_validate(criteria_value), catalog=catalog)
        validation = WorkValidation(valid=True, warnings=warnings)
    else:
        validation = _validate(checked.warnings, body, catalog, checked.quote if "budget" in known else None)
    return LintReport(validation, FieldSources({CRITERIA: source}, FieldSource("--work", work_document)))


def _validate(
    warnings: tuple[LintWarning, ...], body: Mapping[str, Any], catalog: Catalog, quote: Quote | None
) -> WorkValidation:
    """Run the dry runs and return the validation: their problems, or else all warnings and the quote.

    `warnings`: the linter's warnings. A failed dry run prints a note and adds nothing.
    """
    try:
        problems, dry_run_warnings = _dry_run(body, catalog)
    except NoVerdict as error:
        print_error(f"the dry run of custom code and reference failed: {error.message}")
        problems, dry_run_warnings = (), ()
    if problems:
        return WorkValidation(valid=False, problems=problems)
    return WorkValidation(valid=True, warnings=(*warnings, *dry_run_warnings), quote=quote)


def _dry_run(body: Mapping[str, Any], catalog: Catalog) -> tuple[tuple[Problem, ...], tuple[LintWarning, ...]]:
    evaluation = dict(body.get("evaluation") or {})
    payload = {CRITERIA: body[CRITERIA], "input": body.get("input"), "config": catalog.config.as_json()}
    if Evaluation.model_validate(evaluation).has_code:
        limits = build_engine_job_limits(compute_max_dry_run_seconds(evaluation, catalog))
        payload |= {"custom_metrics": evaluation.pop("custom_metrics", None), "evaluation": evaluation}
        found = run_confined_job(CODE_JOB, payload, "running the evaluation data's code", limits)
    elif read_references(evaluation):
        answer = run_confined_job(REFERENCE_JOB, {**payload, "evaluation": evaluation}, "scoring the reference")
        found = {"problems": [], "warnings": [answer["warning"]] if answer["warning"] else []}
    else:
        return (), ()
    problems = tuple(Problem.model_validate(each) for each in found["problems"])
    return problems, tuple(LintWarning.model_validate(each) for each in found["warnings"])


def _known_verifiers(work: Mapping[str, Any], catalog: Catalog, *, only_known_verifiers: bool) -> Collection[str]:
    """Return the verifiers that the work may name.

    Unless `only_known_verifiers`, this includes an unknown verifier of the work, and a note is printed.
    """
    registered = list_enabled_verifier_names(catalog.config)
    verification = work.get("verification")
    name = verification.get("verifier") if isinstance(verification, Mapping) else None
    if only_known_verifiers or not isinstance(name, str) or name in registered:
        return registered
    print_error(f"note: the verifier {name} was not checked: name the services' configuration by --config")
    return [name]
