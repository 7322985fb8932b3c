"""Facts about a candidate's text that fraud rules need and that only evaluation data can tell."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aex_models.criteria import SuccessCriterion
from aex_models.governance import KeywordStats, ReferenceSimilarity
from aex_models.numbers import is_number
from aex_outcomes.catalog import supplied_by
from aex_outcomes.engine.candidate import CandidateFacts, Case
from aex_outcomes.engine.compared import likenesses, structured_form
from aex_outcomes.engine.readings import Reading
from aex_outcomes.engine.spoken import other_text, said_text
from aex_outcomes.engine.visible import hidden_of
from aex_outcomes.extractors.protocol import AgentFault
from aex_outcomes.extractors.text import UNFOLDED, references_of, text_of
from aex_outcomes.extractors.text_quality import TextQualityExtractor
from aex_outcomes.kernels.folding import UnfoldsTooFar
from aex_outcomes.kernels.keywords import Standing, standing
from aex_outcomes.kernels.word_likeness import ReferenceWords, word_likeness
from aex_outcomes.kernels.words import words_of

MAX_TOLD = 200_000
"""Code points of the text that governance is told: rules about likeness need no more, and answers stay small."""

_ABOUT_TEXT = frozenset({"reference", "required_keywords"})
_ABOUT_LABELS = frozenset({"ground_truth"})
_ABOUT_ANYTHING = frozenset({"custom_metrics"})
_SOMEWHAT_LIKE = 0.3
"""By any of the three figures; copies have far more."""


def facts_of(
    case: Case, criteria: Sequence[SuccessCriterion], readings: Sequence[Reading], measure: TextQualityExtractor
) -> CandidateFacts:
    """All that governance asks for, whether or not a criterion names it. The text is the one that `measure` reads."""
    measured = _text(case.work_output, measure)
    text = said_text(case.work_output, measured, measure.max_text_length)
    extracted = _extracted(criteria, readings)
    by_text, by_labels = _judged(case, criteria)
    form = structured_form(case.work_output, measured or text, briefly=by_labels)
    stands = [each for each in (measured, text) if each]
    return CandidateFacts(
        contract_id=case.contract_id,
        extracted_metrics=extracted,
        execution_metadata=case.execution_metadata,
        platform_latency_ms=case.platform_latency_ms,
        output_text=text[:MAX_TOLD] if text else text,
        other_text=other_text(case.work_output, text, MAX_TOLD, case.reasoning),
        structured_form=form,
        similarities=likenesses(form or text, case.earlier, measured=by_text) if case.earlier else {},
        reference_similarity=_nearest(dict.fromkeys(stands), case, extracted, measured, measure),
        keyword_stats=_most_stuffed(dict.fromkeys(stands), case.task_input, criteria, measure),
    )


def _text(output: Any, measure: TextQualityExtractor) -> str | None:
    """What text metrics measure; a bare string counts too: fraud rules look at whatever is written."""
    try:
        return text_of(output, "" if isinstance(output, str) else measure.text_pointer, measure.max_text_length)
    except AgentFault:
        return None


def _judged(case: Case, criteria: Sequence[SuccessCriterion]) -> tuple[bool, bool]:
    """Whether the evaluation data that tell in degrees are about nothing but the text, and about nothing but labels."""
    told = {key for key, value in case.task_input.items() if value}
    told |= {key for criterion in criteria for key in supplied_by(criterion)}
    told &= _ABOUT_TEXT | _ABOUT_LABELS | _ABOUT_ANYTHING
    return bool(told) and told <= _ABOUT_TEXT, bool(told) and told <= _ABOUT_LABELS


def _nearest(
    texts: Iterable[str],
    case: Case,
    extracted: Mapping[str, Any],
    measured: str | None,
    measure: TextQualityExtractor,
) -> ReferenceSimilarity | None:
    """Of the text that metrics measure and of all that is said, the greater figures: either may be the copy."""
    found = [_similarity(each, case, extracted if each == measured else {}, measure) for each in texts]
    some = [each for each in found if each is not None]
    if not some:
        return None
    return ReferenceSimilarity(
        rouge_l=max((each.rouge_l for each in some if each.rouge_l is not None), default=None),
        bleu=max((each.bleu for each in some if each.bleu is not None), default=None),
        likeness=max((each.likeness for each in some if each.likeness is not None), default=None),
    )


def _most_stuffed(
    texts: Iterable[str],
    task_input: Mapping[str, Any],
    criteria: Sequence[SuccessCriterion],
    measure: TextQualityExtractor,
) -> KeywordStats | None:
    """Of the text that metrics measure, unless none of the terms is in it."""
    found = [stats for each in texts if (stats := _keywords(each, task_input, criteria, measure)) is not None]
    return next((each for each in found if each.found), found[0] if found else None)


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
    if max(found.rouge_l or 0.0, found.bleu or 0.0, found.likeness or 0.0) < _SOMEWHAT_LIKE:
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
        likeness=_by_words(text, references, measure),
    )


def _by_words(text: str, references: tuple[str, ...], measure: TextQualityExtractor) -> float:
    """In whatever script. What unfolds too far for any metric is a copy of nothing but for its first part."""
    longest = UNFOLDED * measure.max_text_length
    prepared = [ReferenceWords.of(each[:MAX_TOLD]) for each in references]
    try:
        words = words_of(text, longest)
    except UnfoldsTooFar:
        words = words_of(text[:MAX_TOLD])
    return round(word_likeness(words, prepared), 6)


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
