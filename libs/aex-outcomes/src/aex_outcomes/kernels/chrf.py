"""chrF (Popović 2015), equal to `sacrebleu.sentence_chrf(text, references).score / 100`.

It averages precision and recall of the character n-grams of orders 1 to 6, and combines both with recall weighted twice
(beta 2). White space is dropped, case is kept. Orders longer than one of the texts are left out of the averages.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from aex_outcomes.kernels.bleu import count_ngrams, shared_count_per_reference

ORDERS = range(1, 7)
_BETA_SQUARED = 4
MAX_PREPARED = 20_000
"""Maximum characters of all references together whose counts are kept: they take some 20 MB."""

Counts = Mapping[Hashable, int]


@dataclass(frozen=True, slots=True)
class ChrfReferences:
    """Reference texts of one work, prepared once for all candidates."""

    texts: Sequence[str]
    """Texts without white space."""
    counts: Mapping[int, Sequence[Counts]]
    """Count of each n-gram in each text, by order; empty for long texts."""

    @classmethod
    def from_texts(cls, texts: Sequence[str]) -> "ChrfReferences":
        """Drop white space, and count the n-grams of texts that have up to `MAX_PREPARED` characters in all."""
        plain = [_drop_white_space(each) for each in texts]
        orders = ORDERS if sum(map(len, plain)) <= MAX_PREPARED else ()
        return cls(plain, {order: _count(plain, order) for order in orders})

    def count_ngrams_of_order(self, order: int) -> Sequence[Counts]:
        """Return the count of each n-gram of this order in each text."""
        return self.counts.get(order) or _count(self.texts, order)


def chrf(text: str, references: ChrfReferences) -> float:
    """Return the chrF score of a text and its best reference, from 0 to 1.

    It is 0 if the text or the reference has nothing but white space.
    """
    plain = _drop_white_space(text)
    shared = [
        shared_count_per_reference(references.count_ngrams_of_order(order), _ngrams(plain, order)) for order in ORDERS
    ]
    return max(
        _f_score(len(plain), len(reference), matched)
        for reference, matched in zip(references.texts, zip(*shared, strict=True), strict=True)
    )


def _drop_white_space(text: str) -> str:
    return "".join(text.split())


def _ngrams(text: str, order: int) -> Iterator[str]:
    return (text[start : start + order] for start in range(count_ngrams(text, order)))


def _count(texts: Sequence[str], order: int) -> list[Counts]:
    return [Counter(_ngrams(each, order)) for each in texts]


def _f_score(length: int, reference_length: int, matched_by_order: Sequence[int]) -> float:
    """Return the F-score from two lengths in characters and the number of shared n-grams of each order."""
    precision = recall = 0.0
    orders = min(length, reference_length, len(ORDERS))
    for matched, order in zip(matched_by_order, ORDERS[:orders], strict=False):
        precision += matched / (length - order + 1)
        recall += matched / (reference_length - order + 1)
    if not precision + recall:
        return 0.0
    precision, recall = precision / orders, recall / orders
    return (1 + _BETA_SQUARED) * precision * recall / (_BETA_SQUARED * precision + recall)
