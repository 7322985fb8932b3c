"""ROUGE-N and ROUGE-L f-measures (Lin 2004), equal to the package rouge-score without stemmer.

The tokens are rouge-score's: the text in lower case, split at everything but a–z and 0–9. Text in other scripts
has therefore no tokens, and scores 0.

ROUGE-L takes time with the product of two lengths: it is refused beyond `MAX_STEPS`, some seconds of work.
"""

import re
import string
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from aex_outcomes.kernels.ngrams import ngrams, overlaps, total
from aex_outcomes.kernels.subsequence import longest_common_subsequence

_OF_TOKENS = f"{string.ascii_lowercase}{string.digits}".encode()
_BLANKED = bytes(each if each in _OF_TOKENS else ord(" ") for each in range(256))
"""For `bytes.translate`: a blank for all that separates tokens."""
MAX_STEPS = 60_000_000_000
"""Tokens of the candidate times (tokens of all references, and 1,000 for each reference), for ROUGE-L."""
MAX_REFERENCE_TOKENS = 200_000
"""Of all references together. A candidate of as many tokens as they have, and half as many again, is never refused;
with references of up to 100,000 tokens no candidate of ten times their length that fits into 1,000,000 characters."""
_STEPS_OF_A_REFERENCE = 1_000
"""What looking through a candidate for one reference's tokens costs, in steps for each of its tokens."""
_TYPE = re.compile(r"rouge([1-9]|L)")


class TooManySteps(ValueError):
    """The candidate is too long for ROUGE-L against these references."""


def is_rouge_type(name: str) -> bool:
    """Whether `name` is rouge1 to rouge9 or rougeL."""
    return _TYPE.fullmatch(name) is not None


def tokenize(text: str) -> list[str]:
    """The tokens of a text, as rouge-score's default tokenizer makes them."""
    in_ascii = text.lower().encode("ascii", "replace")  # with a question mark for all else, which separates as well
    return in_ascii.translate(_BLANKED).decode("ascii").split()


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


def rouge(
    candidate: str, references: Sequence[RougeReference], types: Sequence[str], *, cut: bool = False
) -> dict[str, float]:
    """The f-measure of each type, in [0, 1]; with several references the best one for each type.

    Formula and choice as `rouge_score.RougeScorer(types).score_multi(references, candidate)`.
    Raises `TooManySteps` where rougeL is among the types and the candidate too long for it; with `cut` all types are
    those of as many of its first tokens as are not.
    """
    tokens, most = tokenize(candidate), _most_tokens(references)
    if len(tokens) > most and "rougeL" in types:
        if not cut:
            raise TooManySteps("the text has too many words for ROUGE-L against the references")
        tokens = tokens[:most]
    return {each: max(_scores(tokens, references, each)) for each in types}


def _scores(candidate: Sequence[str], references: Sequence[RougeReference], rouge_type: str) -> list[float]:
    if rouge_type == "rougeL":
        return [_rouge_l(candidate, reference.tokens) for reference in references]
    order = int(rouge_type[5:])
    shared = overlaps([reference.counts[order] for reference in references], ngrams(candidate, order))
    length = total(candidate, order)
    return [
        _f_measure(each, length, total(reference.tokens, order))
        for each, reference in zip(shared, references, strict=True)
    ]


def _most_tokens(references: Sequence[RougeReference]) -> int:
    return MAX_STEPS // sum(len(reference.tokens) + _STEPS_OF_A_REFERENCE for reference in references)


def _rouge_l(candidate: Sequence[str], reference: Sequence[str]) -> float:
    return _f_measure(longest_common_subsequence(reference, candidate), len(candidate), len(reference))


def _f_measure(shared: int, candidate: int, reference: int) -> float:
    if not shared:
        return 0.0
    precision, recall = shared / candidate, shared / reference
    return 2 * precision * recall / (precision + recall)
