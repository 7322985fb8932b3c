"""ROUGE-N and ROUGE-L f-measures (Lin 2004), equal to the package rouge-score without stemmer.

The tokens are rouge-score's: the text in lower case, split at everything but a–z and 0–9. Text in other scripts
has therefore no tokens, and scores 0.
"""

import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from aex_outcomes.kernels.ngrams import ngrams, overlap, total
from aex_outcomes.kernels.subsequence import longest_common_subsequence

_TOKEN = re.compile(r"[a-z0-9]+")
_TYPE = re.compile(r"rouge([1-9]|L)")


def is_rouge_type(name: str) -> bool:
    """Whether `name` is rouge1 to rouge9 or rougeL."""
    return _TYPE.fullmatch(name) is not None


def tokenize(text: str) -> list[str]:
    """The tokens of a text, as rouge-score's default tokenizer makes them."""
    return _TOKEN.findall(text.lower())


@dataclass(frozen=True, slots=True)
class RougeReference:
    """A reference text, tokenised and counted once for all candidates."""

    tokens: Sequence[str]
    counts: Mapping[int, Mapping[Hashable, int]]
    """For each order of n-gram that is asked for."""

    @classmethod
    def of(cls, text: str, types: Sequence[str]) -> "RougeReference":
        """Prepare a text for the given types."""
        tokens = tokenize(text)
        orders = {int(each[5:]) for each in types if each != "rougeL"}
        return cls(tokens, {order: Counter(ngrams(tokens, order)) for order in orders})


def rouge(candidate: str, references: Sequence[RougeReference], types: Sequence[str]) -> dict[str, float]:
    """The f-measure of each type, in [0, 1]; with several references the best one for each type.

    Formula and choice as `rouge_score.RougeScorer(types).score_multi(references, candidate)`.
    """
    tokens = tokenize(candidate)
    return {each: max(_score(tokens, reference, each) for reference in references) for each in types}


def _score(candidate: Sequence[str], reference: RougeReference, rouge_type: str) -> float:
    if rouge_type == "rougeL":
        shared = longest_common_subsequence(reference.tokens, candidate)
        return _f_measure(shared, len(candidate), len(reference.tokens))
    order = int(rouge_type[5:])
    shared = overlap(reference.counts[order], ngrams(candidate, order))
    return _f_measure(shared, total(candidate, order), total(reference.tokens, order))


def _f_measure(shared: int, candidate: int, reference: int) -> float:
    if not shared:
        return 0.0
    precision, recall = shared / candidate, shared / reference
    return 2 * precision * recall / (precision + recall)
