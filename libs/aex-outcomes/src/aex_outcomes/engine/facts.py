"""Facts about a candidate's text that fraud rules need and that only evaluation data can tell."""

from collections.abc import Mapping, Sequence
from typing import Any

from aex_models.criteria import SuccessCriterion
from aex_models.governance import KeywordStats, ReferenceSimilarity
from aex_models.numbers import is_number
from aex_outcomes.catalog import supplied_by
from aex_outcomes.engine.candidate import CandidateFacts, Case
from aex_outcomes.engine.readings import Reading
from aex_outcomes.extractors.protocol import AgentFault
from aex_outcomes.extractors.text import MAX_TEXT_LENGTH, TEXT_POINTER, references_of, text_of
from aex_outcomes.kernels.bleu import BleuReference, bleu
from aex_outcomes.kernels.keywords import standing
from aex_outcomes.kernels.rouge import RougeReference, rouge


def facts_of(
    case: Case, criteria: Sequence[SuccessCriterion], readings: Sequence[Reading], text_pointer: str = TEXT_POINTER
) -> CandidateFacts:
    """All that governance asks for, whether or not a criterion names it. The text is the one that metrics measure."""
    text = _text(case.work_output, text_pointer)
    return CandidateFacts(
        contract_id=case.contract_id,
        extracted_metrics=_extracted(criteria, readings),
        execution_metadata=case.execution_metadata,
        platform_latency_ms=case.platform_latency_ms,
        output_text=text,
        reference_similarity=_similarity(text, references_of(case.task_input)) if text else None,
        keyword_stats=_keywords(text, case.task_input, criteria) if text else None,
    )


def _text(output: Any, pointer: str) -> str | None:
    """A bare string counts as text here: fraud rules look at whatever is written."""
    try:
        return text_of(output, "" if isinstance(output, str) else pointer, MAX_TEXT_LENGTH)
    except AgentFault:
        return None


def _extracted(
    criteria: Sequence[SuccessCriterion], readings: Sequence[Reading]
) -> Mapping[str, bool | float | int | None]:
    return {
        criterion.metric: reading.value if isinstance(reading.value, bool) or is_number(reading.value) else None
        for criterion, reading in zip(criteria, readings, strict=True)
        if reading.value is not None
    }


def _similarity(text: str, references: tuple[str, ...]) -> ReferenceSimilarity | None:
    if not references or sum(map(len, references)) > MAX_TEXT_LENGTH:
        return None
    prepared = [RougeReference.of(reference, ["rougeL"]) for reference in references]
    return ReferenceSimilarity(
        rouge_l=rouge(text, prepared, ["rougeL"])["rougeL"], bleu=bleu(text, BleuReference.of(references))
    )


def _keywords(text: str, task_input: Mapping[str, Any], criteria: Sequence[SuccessCriterion]) -> KeywordStats | None:
    """Over all required terms: the secret ones, and those that thresholds name."""
    terms = [*(task_input.get("required_keywords") or ())]
    for criterion in criteria:
        terms += supplied_by(criterion).get("required_keywords", ())
    if not terms:
        return None
    stands = standing(text, terms)
    return KeywordStats(found=stands.found, density=stands.density, list_share=stands.list_share)
