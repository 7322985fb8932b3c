"""Whether the reference would pass its own criteria: if the best answer that is known fails, they are hardly meant."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aex_models.criteria import SuccessCriteria
from aex_models.faults import Fault
from aex_models.results import METRIC_MISSING, CriterionResult, Provenance
from aex_models.work import Evaluation, LintWarning
from aex_outcomes.engine.aggregating import Scale
from aex_outcomes.engine.verification import VerificationEngine
from aex_outcomes.extractors.contains import ContainsExtractor
from aex_outcomes.extractors.text import references_of
from aex_outcomes.extractors.text_quality import TextQualityExtractor
from aex_outcomes.linter import said

CODE = "reference_fails_criteria"
_OF_THE_WHOLE_OUTPUT = frozenset({"matches_schema", "has_required_fields"})
"""A reference is a text: what else an output has to hold, it cannot show."""


def check_reference(payload: dict[str, Any]) -> dict[str, Any]:
    """`reference_warning` as the job of a confined worker.

    `payload`: `success_criteria`, `input`, `evaluation`, and `config`, the mapping of an `outcome-verification.yaml`
    (or null). Returns `{warning}`, null where there is none.
    """
    engine = VerificationEngine(payload.get("config"))
    criteria = SuccessCriteria.model_validate(payload["success_criteria"])
    found = asyncio.run(
        reference_warning(criteria, payload.get("input") or {}, payload.get("evaluation") or {}, engine)
    )
    return {"warning": found.model_dump(mode="json") if found else None}


async def reference_warning(
    criteria: SuccessCriteria | None,
    work_input: Mapping[str, Any],
    evaluation: Evaluation | Mapping[str, Any] | None,
    engine: VerificationEngine,
) -> LintWarning | None:
    """A warning where no reference passes the criteria, each taken as a candidate's text; else None.

    Criteria that a mere text cannot be held against count as met: on time and other things that agents report,
    predictions, schema and fields, and whatever could not be computed (custom code without a sandbox). So the warning
    is never wrong about a candidate that has more than the text. It names criteria and no value: values are computed
    from evaluation data. Raises `UnknownMetric`.
    """
    given = evaluation.model_dump(mode="json", exclude_none=True) if isinstance(evaluation, Evaluation) else evaluation
    references = references_of(given or {})
    if criteria is None or not references:
        return None
    scale = Scale.of(criteria)
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
    return _warning(criteria, failed)


def _fails(result: CriterionResult) -> bool:
    """Whether the text itself fails the criterion, and not what it lacks beside it."""
    if result.met or result.metric in _OF_THE_WHOLE_OUTPUT or result.provenance is not Provenance.COMPUTED:
        return False
    return result.error is None or (result.error.fault is not Fault.PLATFORM and result.error.code != METRIC_MISSING)


def _warning(criteria: SuccessCriteria, failed: Sequence[set[int]]) -> LintWarning:
    always = sorted(set.intersection(*failed))
    named = ", ".join(said(criteria.criteria[position]) for position in always)
    who = "The reference itself does not pass" if len(failed) == 1 else f"None of the {len(failed)} references passes"
    return LintWarning(
        code=CODE,
        path="/evaluation/reference",
        message=f"{who}: {named}" if named else who,
        suggestion="Verify the reference as an output to see its values; then relax the criteria, or correct it",
    )


def as_output(reference: str, engine: VerificationEngine) -> Any:
    """An output that holds the text wherever a built-in extractor looks for one."""
    pointers = {
        each.text_pointer
        for each in engine.catalog.extractors.values()
        if isinstance(each, TextQualityExtractor | ContainsExtractor)
    }
    return reference if "" in pointers else _placed(reference, pointers)


def _placed(text: str, pointers: Iterable[str]) -> dict[str, Any]:
    """Where one pointer leads through the text of another, it is left out: its metrics are then missing."""
    output: dict[str, Any] = {}
    for pointer in sorted(pointers):
        *path, name = (segment.replace("~1", "/").replace("~0", "~") for segment in pointer.split("/")[1:])
        place: Any = output
        for segment in path:
            place = place.setdefault(segment, {}) if isinstance(place, dict) else None
        if isinstance(place, dict):
            place[name] = text
    return output
