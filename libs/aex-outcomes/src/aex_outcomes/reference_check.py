"""Check that a work's reference passes the work's criteria; else the criteria may have a mistake."""

import asyncio
from collections.abc import Mapping
from typing import Any

from aex_models.criteria import SuccessCriteria
from aex_models.evaluation import Evaluation
from aex_models.examination import Fault
from aex_models.results import METRIC_MISSING, CriterionResult, Provenance
from aex_models.work import LintWarning
from aex_outcomes.engine.verdict import CriteriaWeights
from aex_outcomes.engine.verification import VerificationEngine
from aex_outcomes.extractors.answers import AnswersExtractor
from aex_outcomes.extractors.contains import ContainsExtractor
from aex_outcomes.extractors.text_quality import TextQualityExtractor, read_references
from aex_outcomes.linter import describe_criterion
from aex_outcomes.science_lint import make_lint_warning

CODE = "reference_fails_criteria"
_OUTPUT_METRICS = frozenset({"matches_schema", "has_required_fields"})
"""Metrics of parts of an output that a text reference does not have."""


def check_references_against_criteria(payload: dict[str, Any]) -> dict[str, Any]:
    """Run `warn_if_references_fail` as the job of a confined worker.

    `payload`: `success_criteria`, `input`, `evaluation`, and `config`, the mapping of an `outcome-verification.yaml` or
    null. Returns `{"warning": …}`, with null if there is no warning.
    """
    engine = VerificationEngine(payload.get("config"))
    criteria = SuccessCriteria.model_validate(payload["success_criteria"])
    work_input, evaluation = payload.get("input") or {}, payload.get("evaluation") or {}
    found = asyncio.run(warn_if_references_fail(criteria, work_input, evaluation, engine))
    return {"warning": found.model_dump(mode="json") if found else None}


async def warn_if_references_fail(
    criteria: SuccessCriteria | None,
    work_input: Mapping[str, Any],
    evaluation: Evaluation | Mapping[str, Any] | None,
    engine: VerificationEngine,
) -> LintWarning | None:
    """Verify each reference as if it were a candidate's text; return a warning if none passes, else None.

    Criteria on other things than the text count as met: reported metrics, predictions, schema, fields, and metrics that
    could not be computed. The warning names criteria and no value, because evaluation data determine the values.
    Returns None also if there are no criteria or no references. Raises `UnknownMetric`.
    """
    given = evaluation.model_dump(mode="json", exclude_none=True) if isinstance(evaluation, Evaluation) else evaluation
    references = read_references(given or {})
    if criteria is None or not references:
        return None
    scale = CriteriaWeights.from_criteria(criteria)
    failed: list[set[int]] = []
    for reference in references:
        result = await engine.verify(
            contract_id="reference",
            work_input=work_input,
            work_output=build_reference_output(reference, engine),
            success_criteria=criteria,
            evaluation=given,
        )
        unmet = {position for position, each in enumerate(result.criterion_results) if _fails(each)}
        if scale.succeeds([position not in unmet for position in range(len(criteria.criteria))]):
            return None
        failed.append(unmet)
    always = sorted(set.intersection(*failed))
    named = ", ".join(describe_criterion(criteria.criteria[position]) for position in always)
    several = f"None of the {len(failed)} references passes"
    subject = "The reference itself does not pass" if len(failed) == 1 else several
    fix = "Verify the reference as an output to see its values; then relax the criteria, or correct it"
    return make_lint_warning(CODE, "/evaluation/reference", f"{subject}: {named}" if named else subject, fix)


def _fails(result: CriterionResult) -> bool:
    """Return True if the reference's text fails the criterion, not a part that a text does not have."""
    if result.met or result.metric in _OUTPUT_METRICS or result.provenance is not Provenance.COMPUTED:
        return False
    return result.error is None or (result.error.fault is not Fault.PLATFORM and result.error.code != METRIC_MISSING)


def build_reference_output(reference: str, engine: VerificationEngine) -> Any:
    """Return an output that has the reference as its text at every pointer where an extractor reads one."""
    readers = engine.catalog.extractors.values()
    of_texts = TextQualityExtractor | ContainsExtractor | AnswersExtractor
    pointers = {each.text_pointer for each in readers if isinstance(each, of_texts)}
    if "" in pointers:
        return reference
    output: dict[str, Any] = {}
    for pointer in sorted(pointers):  # one that leads through another's text is left out
        *path, name = (segment.replace("~1", "/").replace("~0", "~") for segment in pointer.split("/")[1:])
        parent: Any = output
        for segment in path:
            parent = parent.setdefault(segment, {}) if isinstance(parent, dict) else None
        if isinstance(parent, dict):
            parent[name] = reference
    return output
