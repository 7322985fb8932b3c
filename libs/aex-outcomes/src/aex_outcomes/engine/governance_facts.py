"""Facts about a candidate for governance's fraud rules, computed where evaluation data are available."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aex_models.governance import KeywordStats, ReferenceSimilarity
from aex_models.numbers import is_finite_number
from aex_outcomes.catalog import supplied_evaluation
from aex_outcomes.engine.candidate import CandidateFacts, VerificationInput
from aex_outcomes.engine.extraction_plan import Reading
from aex_outcomes.engine.output_similarity import build_comparable_form, output_similarities
from aex_outcomes.engine.output_text import collect_reasoning_and_other_text, join_nested_strings, main_text
from aex_outcomes.extractors.protocol import AgentFault
from aex_outcomes.extractors.text_quality import MAX_NORMALIZED_GROWTH, TextQualityExtractor, read_references, read_text
from aex_outcomes.kernels.keywords import keyword_layout
from aex_outcomes.kernels.normalization import NormalizedTooLong, split_words
from aex_outcomes.kernels.similarity import ReferenceWords, word_similarity

MAX_SEARCHED = 1_000_000
"""Maximum code points of the work's input that are searched for references."""
MAX_TEXT = 200_000
"""Maximum code points of the text that governance gets; its rules on similarity need no more."""
_TEXT_KEYS = frozenset({"reference", "required_keywords", "numeric", "choice"})
_LABEL_KEYS = frozenset({"ground_truth", "targets"})
_OTHER_KEYS = frozenset({"custom_metrics", "records", "ranking", "sql", "tests", "named"})
_MIN_SIMILARITY = 0.3
"""Minimum similarity for which the secret references are determined; copies have far more."""
_Run = tuple[str, ...]
_LONGEST_RUN = 5
"""Number of consecutive words that must occur in the input to be visible in it."""
_VISIBLE = 0.9
"""Share of a reference's words from which it is visible in the input: extracts omit or join words."""


def secret_references(references: Sequence[str], work_input: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the references that an agent cannot read in the work's input, as a whole or in its sentences."""
    input_text = join_nested_strings(work_input)[:MAX_SEARCHED]
    if not references or not input_text:
        return tuple(references)
    pieces = [_words(each) for each in references]
    found = _find_runs(pieces, _words(input_text))
    return tuple(each for each, words in zip(references, pieces, strict=True) if not _is_visible(words, found))


def _find_runs(references: Sequence[Sequence[str]], input_text: Sequence[str]) -> set[_Run]:
    """Return the runs of words of all references that occur in the input."""
    runs_by_size: dict[int, set[_Run]] = {}
    for words in references:
        size = min(_LONGEST_RUN, len(words))
        runs_by_size.setdefault(size, set()).update(_runs(words, size))
    return set().union(*(runs.intersection(_runs(input_text, size)) for size, runs in runs_by_size.items() if size))


def _is_visible(reference: Sequence[str], found: set[_Run]) -> bool:
    size = min(_LONGEST_RUN, len(reference))
    starts = [start for start, run in enumerate(_runs(reference, size)) if run in found]
    covered = {start + step for start in starts for step in range(size)}
    return bool(covered) and len(covered) >= _VISIBLE * len(reference)


def _runs(words: Sequence[str], size: int) -> Iterable[_Run]:
    return zip(*(words[start:] for start in range(size)), strict=False)


def _words(text: str) -> list[str]:
    """Return the normalised words of a text; if normalisation makes it too long, of its first tenth."""
    try:
        return split_words(text, MAX_NORMALIZED_GROWTH * MAX_SEARCHED)
    except NormalizedTooLong:
        return split_words(text[: MAX_SEARCHED // 10])


def collect_candidate_facts(
    case: VerificationInput, readings: Sequence[Reading], text_extractor: TextQualityExtractor
) -> CandidateFacts:
    """Return the facts about a candidate for governance.

    `readings`: those of the criteria, in their order. `text_extractor` decides where the output's text is and computes
    its similarity to references.
    """
    measured = _text(case.work_output, text_extractor)
    text = main_text(case.work_output, measured, text_extractor.max_text_length)
    extracted = {
        criterion.metric: reading.value if isinstance(reading.value, bool) or is_finite_number(reading.value) else None
        for criterion, reading in zip(case.criteria, readings, strict=True)
        if reading.value is not None
    }
    by_text, by_labels = _graded_aspects(case)
    form = build_comparable_form(case.work_output, measured or text, abbreviate_strings=by_labels)
    texts = [each for each in (measured, text) if each]
    return CandidateFacts(
        contract_id=case.contract_id,
        extracted_metrics=extracted,
        execution_metadata=case.execution_metadata,
        platform_latency_ms=case.platform_latency_ms,
        output_text=text[:MAX_TEXT] if text else text,
        other_text=collect_reasoning_and_other_text(case.work_output, text, MAX_TEXT, case.reasoning),
        structured_form=form,
        similarities=output_similarities(form or text, case.earlier, text_is_measured=by_text) if case.earlier else {},
        reference_similarity=_reference_similarity(dict.fromkeys(texts), case, extracted, measured, text_extractor),
        keyword_stats=_most_keywords(dict.fromkeys(texts), case, text_extractor),
    )


def _text(output: Any, text_extractor: TextQualityExtractor) -> str | None:
    """Return the text that text metrics measure, or the output itself if it is a string; else None."""
    try:
        return read_text(
            output, "" if isinstance(output, str) else text_extractor.text_pointer, text_extractor.max_text_length
        )
    except AgentFault:
        return None


def _graded_aspects(case: VerificationInput) -> tuple[bool, bool]:
    """Return two flags: the graded evaluation data concern only the text; they concern only labels."""
    data_keys = {key for key, value in case.input_with_evaluation.items() if value}
    data_keys |= {key for criterion in case.criteria for key in supplied_evaluation(criterion)}
    data_keys &= _TEXT_KEYS | _LABEL_KEYS | _OTHER_KEYS
    return bool(data_keys) and data_keys <= _TEXT_KEYS, bool(data_keys) and data_keys <= _LABEL_KEYS


def _reference_similarity(
    texts: Iterable[str],
    case: VerificationInput,
    extracted: Mapping[str, Any],
    measured: str | None,
    text_extractor: TextQualityExtractor,
) -> ReferenceSimilarity | None:
    """Return each figure of similarity to the secret references, the greatest of any text; None if none."""
    found = [_similarity(each, case, extracted if each == measured else {}, text_extractor) for each in texts]
    figures = [each.model_dump() for each in found if each is not None]
    if not figures:
        return None
    names = ReferenceSimilarity.model_fields
    return ReferenceSimilarity(
        **{name: max((each[name] for each in figures if each[name] is not None), default=None) for name in names}
    )


def _most_keywords(
    texts: Iterable[str], case: VerificationInput, text_extractor: TextQualityExtractor
) -> KeywordStats | None:
    """Return statistics of the required terms in the first text that has any, else in the first text.

    None if no terms are required or there is no text.
    """
    terms = [*(case.input_with_evaluation.get("required_keywords") or ())]
    for criterion in case.criteria:
        terms += supplied_evaluation(criterion).get("required_keywords", ())
    if not terms:
        return None
    limit = MAX_NORMALIZED_GROWTH * text_extractor.max_text_length
    found = [_keyword_stats(each, terms, limit) for each in texts]
    return next((each for each in found if each.found), found[0] if found else None)


def _similarity(
    text: str, case: VerificationInput, extracted: Mapping[str, Any], text_extractor: TextQualityExtractor
) -> ReferenceSimilarity | None:
    """Return the text's similarity to the secret references; None if there are none or they are too long.

    If the similarity to all references is low, it is returned without finding out which of them are secret.
    """
    references = read_references(case.input_with_evaluation)
    if not references or sum(map(len, references)) > text_extractor.max_text_length:
        return None
    found = _similarity_figures(text, references, extracted, text_extractor)
    if max(found.rouge_l or 0.0, found.bleu or 0.0, found.likeness or 0.0) < _MIN_SIMILARITY:
        return found
    secret = secret_references(references, case.work_input)
    if len(secret) == len(references):
        return found
    return _similarity_figures(text, secret, {}, text_extractor) if secret else None


def _similarity_figures(
    text: str, references: tuple[str, ...], extracted: Mapping[str, Any], text_extractor: TextQualityExtractor
) -> ReferenceSimilarity:
    rouge_l, bleu = extracted.get("rougeL"), extracted.get("bleu_score")
    return ReferenceSimilarity(
        rouge_l=text_extractor.rouge(text, references, ["rougeL"], truncate=True)["rougeL"]
        if rouge_l is None
        else rouge_l,
        bleu=text_extractor.bleu(text, references) if bleu is None else bleu,
        likeness=_word_similarity(text, references, text_extractor),
    )


def _word_similarity(text: str, references: tuple[str, ...], text_extractor: TextQualityExtractor) -> float:
    """Return the similarity by words; of a text that normalisation makes too long, of its beginning."""
    limit = MAX_NORMALIZED_GROWTH * text_extractor.max_text_length
    prepared = [ReferenceWords.parse(each[:MAX_TEXT]) for each in references]
    try:
        words = split_words(text, limit)
    except NormalizedTooLong:
        words = split_words(text[:MAX_TEXT])
    return round(word_similarity(words, prepared), 6)


def _keyword_stats(text: str, terms: Sequence[str], limit: int) -> KeywordStats:
    """Return the layout of the terms; in a text that normalisation makes too long, in its beginning."""
    try:
        layout = keyword_layout(text, terms, limit)
    except NormalizedTooLong:
        layout = keyword_layout(text[:MAX_TEXT], terms)
    return KeywordStats(found=layout.found, density=layout.density, list_share=layout.list_share)
