"""The check that a reference passes its own criteria; a failure suggests a mistake in the criteria."""

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
from aex_outcomes.extractors.contains import ContainsExtractor
from aex_outcomes.extractors.text_quality import TextQualityExtractor, references_of
from aex_outcomes.linter import describe_criterion
from aex_outcomes.science_lint import make_lint_warning

CODE = "reference_fails_criteria"
_OUTPUT_METRICS = frozenset({"matches_schema", "has_required_fields"})
"""Metrics of parts of an output that a text reference does not have."""


def check_reference(payload: dict[str, Any]) -> dict[str, Any]:
    """Run `reference_warning` as the job of a confined worker.

    `payload`: `success_criteria`, `input`, `evaluation`, and `config`, the mapping of an `outcome-verification.yaml`
    (or null). Returns `{warning}`, null where there is none.
    """
    engine = VerificationEngine(payload.get("config"))
    criteria = SuccessCriteria.model_validate(payload["success_criteria"])
    work_input, evaluation = payload.get("input") or {}, payload.get("evaluation") or {}
    found = asyncio.run(reference_warning(criteria, work_input, evaluation, engine))
    return {"warning": found.model_dump(mode="json") if found else None}


async def reference_warning(
    criteria: SuccessCriteria | None,
    work_input: Mapping[str, Any],
    evaluation: Evaluation | Mapping[str, Any] | None,
    engine: VerificationEngine,
) -> LintWarning | None:
    """Return a warning when no reference passes the criteria as a candidate's text, else None.

    Criteria that a text cannot fail count as met: on latency and other reported metrics, predictions, schema, fields,
    and metrics that could not be computed. So a candidate that has more than the text gets no false warning. The
    warning names criteria and no value, since values are computed from evaluation data. Raises `UnknownMetric`.
    """
    given = evaluation.model_dump(mode="json", exclude_none=True) if isinstance(evaluation, Evaluation) else evaluation
    references = references_of(given or {})
    if criteria is None or not references:
        return None
    scale = CriteriaWeights.from_criteria(criteria)
    failed: list[set[int]] = []
    for reference in references:
        result = await engine.verify(
            contract_id="reference",
            work_input=work_input,
            work_output=as_output(reference, engine),
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
    """Return True when the text itself fails the criterion, not a part that it lacks."""
    if result.met or result.metric in _OUTPUT_METRICS or result.provenance is not Provenance.COMPUTED:
        return False
    return result.error is None or (result.error.fault is not Fault.PLATFORM and result.error.code != METRIC_MISSING)


def as_output(reference: str, engine: VerificationEngine) -> Any:
    """Return an output with the text wherever a built-in extractor reads one."""
    readers = engine.catalog.extractors.values()
    pointers = {each.text_pointer for each in readers if isinstance(each, TextQualityExtractor | ContainsExtractor)}
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
