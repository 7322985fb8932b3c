"""Equality, word F1 and character similarity of answers, with the results of SQuAD 2.0 and rapidfuzz.

The evaluation script of SQuAD 2.0 (Rajpurkar et al. 2018) normalises a text in this order: lower case; no ASCII
punctuation; no articles (a, an, the); single blanks. The similarities of characters compare code points, without any
normalisation. Their time grows with the product of two lengths, and is refused beyond `MAX_STEPS`.
"""

import re
import string
from collections import Counter
from collections.abc import Sequence

from aex_outcomes.kernels.rouge import TooManySteps

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)
MAX_STEPS = 20_000_000_000
"""Maximum of the text's length times (all references' lengths, and 1,000 for each reference): takes up to 4 s."""
_STEPS_OF_A_REFERENCE = 1_000
"""Cost of preparing a text for one reference, in steps for each character of the text."""


def normalize_answer(text: str) -> str:
    """Return the text as SQuAD 2.0's evaluation script normalises it."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_WITHOUT_PUNCTUATION)).split())


def equals_any_answer(text: str, references: Sequence[str]) -> bool:
    """Return True if the text equals a reference after SQuAD 2.0's normalisation."""
    normalized = normalize_answer(text)
    return any(normalize_answer(each) == normalized for each in references)


def answer_f1(text: str, references: Sequence[str]) -> float:
    """Return SQuAD 2.0's F1 of the text's words and the best reference's, from 0 to 1.

    Without words on both sides it is 1, without words on one side 0.
    """
    words = normalize_answer(text).split()
    counts = Counter(words)
    return max(_f1(len(words), counts, normalize_answer(each).split()) for each in references)


def _f1(length: int, counts: Counter[str], reference: Sequence[str]) -> float:
    if not length or not reference:
        return float(length == len(reference))
    shared = sum(min(count, counts[word]) for word, count in Counter(reference).items())
    if not shared:
        return 0.0
    precision, recall = shared / length, shared / len(reference)
    return 2 * precision * recall / (precision + recall)


def levenshtein_similarity(text: str, references: Sequence[str]) -> float:
    """Return rapidfuzz's `Levenshtein.normalized_similarity` with the best reference, from 0 to 1.

    Raises `TooManySteps` for a text that is too long.
    """
    _require_few_steps(text, references)
    from rapidfuzz.distance import Levenshtein  # noqa: PLC0415 of the extra `measuring`, which checks do without

    return max(Levenshtein.normalized_similarity(text, each) for each in references)


def fuzzy_ratio(text: str, references: Sequence[str]) -> float:
    """Return rapidfuzz's `fuzz.ratio` with the best reference, divided by 100.

    Raises `TooManySteps` for a text that is too long.
    """
    _require_few_steps(text, references)
    from rapidfuzz import fuzz  # noqa: PLC0415 of the extra `measuring`, which checks do without

    return max(fuzz.ratio(text, each) for each in references) / 100


def _require_few_steps(text: str, references: Sequence[str]) -> None:
    if len(text) * sum(len(each) + _STEPS_OF_A_REFERENCE for each in references) > MAX_STEPS:
        raise TooManySteps("the text has too many characters to count its edits against the references")
