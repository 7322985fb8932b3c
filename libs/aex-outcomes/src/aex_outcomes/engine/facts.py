"""Facts about a candidate's text that fraud rules need and that only evaluation data can tell."""

from collections.abc import Mapping, Sequence
from typing import Any

from aex_models.criteria import SuccessCriterion
from aex_models.governance import KeywordStats, ReferenceSimilarity
from aex_models.numbers import is_number
from aex_outcomes.catalog import supplied_by
from aex_outcomes.engine.candidate import CandidateFacts, Case
from aex_outcomes.engine.compared import likenesses, structured_form
from aex_outcomes.engine.readings import Reading
from aex_outcomes.engine.spoken import other_text
from aex_outcomes.engine.visible import hidden_of
from aex_outcomes.extractors.protocol import AgentFault
from aex_outcomes.extractors.text import UNFOLDED, references_of, text_of
from aex_outcomes.extractors.text_quality import TextQualityExtractor
from aex_outcomes.kernels.keywords import Standing, UnfoldsTooFar, standing

MAX_TOLD = 200_000
"""Code points of the text that governance is told: rules about likeness need no more, and answers stay small."""

_SOMEWHAT_LIKE = 0.3
"""ROUGE-L or BLEU; copies have far more."""


def facts_of(
    case: Case, criteria: Sequence[SuccessCriterion], readings: Sequence[Reading], measure: TextQualityExtractor
) -> CandidateFacts:
    """All that governance asks for, whether or not a criterion names it. The text is the one that `measure` reads."""
    text = _text(case.work_output, measure)
    extracted = _extracted(criteria, readings)
    form = structured_form(case.work_output, text)
    return CandidateFacts(
        contract_id=case.contract_id,
        extracted_metrics=extracted,
        execution_metadata=case.execution_metadata,
        platform_latency_ms=case.platform_latency_ms,
        output_text=text[:MAX_TOLD] if text else text,
        other_text=other_text(case.work_output, text, MAX_TOLD, case.reasoning),
        structured_form=form,
        similarities=likenesses(form or text, case.earlier) if case.earlier else {},
        reference_similarity=_similarity(text, case, extracted, measure) if text else None,
        keyword_stats=_keywords(text, case.task_input, criteria, measure) if text else None,
    )


def _text(output: Any, measure: TextQualityExtractor) -> str | None:
    """A bare string counts as text here: fraud rules look at whatever is written."""
    try:
        return text_of(output, "" if isinstance(output, str) else measure.text_pointer, measure.max_text_length)
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


def _similarity(
    text: str, case: Case, extracted: Mapping[str, Any], measure: TextQualityExtractor
) -> ReferenceSimilarity | None:
    """To the references that are secrets. What criteria had extracted of just those is not computed again.

    Which of them are is looked up only for a text that is somewhat like any: for the others it makes no difference.
    """
    references = references_of(case.task_input)
    if not references or sum(map(len, references)) > measure.max_text_length:
        return None
    found = _likeness(text, references, extracted, measure)
    if max(found.rouge_l or 0.0, found.bleu or 0.0) < _SOMEWHAT_LIKE:
        return found
    hidden = hidden_of(references, case.work_input)
    if len(hidden) == len(references):
        return found
    return _likeness(text, hidden, {}, measure) if hidden else None


def _likeness(
    text: str, references: tuple[str, ...], extracted: Mapping[str, Any], measure: TextQualityExtractor
) -> ReferenceSimilarity:
    rouge_l, bleu = extracted.get("rougeL"), extracted.get("bleu_score")
    return ReferenceSimilarity(
        rouge_l=measure.rouge(text, references, ["rougeL"], cut=True)["rougeL"] if rouge_l is None else rouge_l,
        bleu=measure.bleu(text, references) if bleu is None else bleu,
    )


def _keywords(
    text: str, task_input: Mapping[str, Any], criteria: Sequence[SuccessCriterion], measure: TextQualityExtractor
) -> KeywordStats | None:
    """Over all required terms: the secret ones, and those that thresholds name."""
    terms = [*(task_input.get("required_keywords") or ())]
    for criterion in criteria:
        terms += supplied_by(criterion).get("required_keywords", ())
    if not terms:
        return None
    stands = _standing(text, terms, UNFOLDED * measure.max_text_length)
    return KeywordStats(found=stands.found, density=stands.density, list_share=stands.list_share)


def _standing(text: str, terms: Sequence[str], longest: int) -> Standing:
    """Of a text that unfolds too far for any metric, no more is looked at than governance is told."""
    try:
        return standing(text, terms, longest)
    except UnfoldsTooFar:
        return standing(text[:MAX_TOLD], terms)
