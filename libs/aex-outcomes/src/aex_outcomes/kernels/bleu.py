"""BLEU (Papineni et al. 2002), equal to `sacrebleu.corpus_bleu([candidate], [[reference], …]).score / 100`.

13a tokens, orders 1 to 4, exponential smoothing (Chen & Cherry 2014, method 3), brevity penalty against the
reference nearest in length (the shorter one at a tie), case kept.
"""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from aex_outcomes.kernels.ngrams import merged, ngrams, overlap, total
from aex_outcomes.kernels.tokens_13a import tokenize_13a

ORDERS = (1, 2, 3, 4)
_LOG_OF_ZERO = -9999999999
"""What sacrebleu takes the logarithm of 0 for."""


@dataclass(frozen=True, slots=True)
class BleuReference:
    """One or more references, tokenised and counted once for all candidates."""

    counts: Mapping[int, Mapping[Hashable, int]]
    """For each order, every n-gram with its largest count in any one reference."""
    lengths: Sequence[int]

    @classmethod
    def of(cls, texts: Sequence[str]) -> "BleuReference":
        """Prepare references; there must be at least one."""
        tokenised = [tokenize_13a(text) for text in texts]
        counts = {order: merged([Counter(ngrams(tokens, order)) for tokens in tokenised]) for order in ORDERS}
        return cls(counts, [len(tokens) for tokens in tokenised])


def bleu(candidate: str, reference: BleuReference) -> float:
    """The score of a candidate in [0, 1]."""
    tokens = tokenize_13a(candidate)
    correct = [overlap(reference.counts[order], ngrams(tokens, order)) for order in ORDERS]
    if not any(correct):
        return 0.0
    totals = [total(tokens, order) for order in ORDERS]
    mean_log = sum(_log(each) for each in _precisions(correct, totals)) / len(ORDERS)
    return _brevity_penalty(len(tokens), reference.lengths) * math.exp(mean_log) / 100


def _precisions(correct: Sequence[int], totals: Sequence[int]) -> list[float]:
    """In percent, as sacrebleu has them; an order with n-grams but no match counts 1 / (2^k · total)."""
    precisions = [0.0] * len(ORDERS)
    smoothing = 1.0
    for position, (matched, counted) in enumerate(zip(correct, totals, strict=True)):
        if counted == 0:
            break
        if matched == 0:
            smoothing *= 2
            precisions[position] = 100.0 / (smoothing * counted)
        else:
            precisions[position] = 100.0 * matched / counted
    return precisions


def _log(precision: float) -> float:
    return math.log(precision) if precision else _LOG_OF_ZERO


def _brevity_penalty(length: int, references: Sequence[int]) -> float:
    nearest = min(references, key=lambda each: (abs(length - each), each))
    return 1.0 if length >= nearest else math.exp(1 - nearest / length)
