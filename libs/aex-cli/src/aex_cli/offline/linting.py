"""Everything wrong or odd about criteria out of files, and what they can cost."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from aex_cli.offline.confined import NotJudged, custom_ms, for_custom, run_confined
from aex_cli.offline.documents import Document
from aex_cli.offline.sources import CRITERIA, Source, Sources, criteria_in, unknown_fields, work_in
from aex_models.criteria import SuccessCriteria
from aex_models.work import LintWarning, Problem, Quote, WorkSubmission, WorkValidation
from aex_outcomes.catalog import Catalog
from aex_outcomes.extractors.text import references_of
from aex_outcomes.lifecycle.registry import verifier_names
from aex_outcomes.linter import lint
from aex_outcomes.submission import check_submission
from aex_runtime.commandline.output import complain

REFERENCE_JOB = "aex_outcomes.reference_check:check_reference"
CODE_JOB = "aex_outcomes.sandbox.dry_run:dry_run"
_RUNS = 3
"""Of each piece of custom code: on an empty candidate, on the reference, once more as the criteria are held to that."""
_ASSUMED: Mapping[str, Any] = {"title": "untitled", "budget": {"max_cpc": 0}}
"""What a work needs and its criteria do not."""
_NEEDS_WORK = frozenset({"evaluation_missing", "science_missing", "check_missing"})


@dataclass(frozen=True, slots=True)
class Linted:
    """What was found, in the words of `POST /v1/work/validate`, and where each path of it lies."""

    found: WorkValidation
    sources: Sources


def lint_files(criteria: Document, work: Document | None, catalog: Catalog, *, configured: bool) -> Linted:
    """Lint success criteria, alone or with their work; a file that is a whole work is both.

    Without a work, evaluation data and science are taken to be there; without a budget there is no quote. Whether the
    services have a reviewer is not known here: a work may ask for one. Data need not be uploaded yet. `configured`: the
    catalogue is the services', so that its verifiers are theirs too. Raises `UserError` for a file that holds nothing
    of the kind.
    """
    given, source = criteria_in(criteria)
    whole = work or (criteria if source.pointer else None)
    fields = work_in(whole)
    known = {name: value for name, value in fields.items() if name in WorkSubmission.model_fields}
    body = {**_ASSUMED, **known, CRITERIA: given}
    verifiers = _verifiers(known, catalog, configured=configured)
    checked = check_submission(body, catalog, verifiers=verifiers, reviewer=True, uploaded=False)
    problems = [*unknown_fields(fields), *(each for each in checked.problems if whole or each.code not in _NEEDS_WORK)]
    if problems:
        found = WorkValidation(valid=False, problems=tuple(problems))
    elif checked.submission is None:  # there is no work, and nothing is wrong but that
        warnings = lint(SuccessCriteria.model_validate(given), catalog=catalog)
        found = WorkValidation(valid=True, warnings=warnings)
    else:
        found = _tried(checked.warnings, body, catalog, checked.quote if "budget" in known else None)
    return Linted(found, Sources({CRITERIA: source}, Source("--work", whole)))


def _tried(
    warnings: tuple[LintWarning, ...], body: Mapping[str, Any], catalog: Catalog, quote: Quote | None
) -> WorkValidation:
    """What the linter found, with what custom code and reference say once they are tried."""
    try:
        problems, further = _dry_run(body, catalog)
    except NotJudged as error:
        complain(f"custom code and reference could not be tried: {error.message}")
        problems, further = (), ()
    found = () if problems else (*warnings, *further)
    return WorkValidation(valid=not problems, problems=problems, warnings=found, quote=None if problems else quote)


def _dry_run(body: Mapping[str, Any], catalog: Catalog) -> tuple[tuple[Problem, ...], tuple[LintWarning, ...]]:
    evaluation = dict(body.get("evaluation") or {})
    payload = {CRITERIA: body[CRITERIA], "input": body.get("input"), "config": catalog.config.as_json()}
    metrics = evaluation.pop("custom_metrics", None)
    if metrics:
        payload |= {"evaluation": evaluation, "custom_metrics": metrics}
        time_ms = custom_ms(_RUNS * len(metrics), catalog)
        found = run_confined(CODE_JOB, payload, "trying the custom code", for_custom(time_ms))
    elif references_of(evaluation):
        answer = run_confined(REFERENCE_JOB, {**payload, "evaluation": evaluation}, "trying the reference")
        found = {"problems": [], "warnings": [answer["warning"]] if answer["warning"] else []}
    else:
        return (), ()
    problems = tuple(Problem.model_validate(each) for each in found["problems"])
    return problems, tuple(LintWarning.model_validate(each) for each in found["warnings"])


def _verifiers(work: Mapping[str, Any], catalog: Catalog, *, configured: bool) -> Collection[str]:
    """What the work may name. Without the services' configuration that is not known, and any name is taken."""
    registered = verifier_names(catalog.config)
    verification = work.get("verification")
    name = verification.get("verifier") if isinstance(verification, Mapping) else None
    if configured or not isinstance(name, str) or name in registered:
        return registered
    complain(f"note: whether there is a verifier {name} was not checked: name the services' configuration by --config")
    return [name]
