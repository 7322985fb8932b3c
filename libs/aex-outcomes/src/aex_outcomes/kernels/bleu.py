"""BLEU (Papineni et al. 2002), equal to `sacrebleu.corpus_bleu([text], [[reference], …]).score / 100`.

It uses 13a tokens, orders 1 to 4, exponential smoothing (Chen & Cherry 2014, method 3), and keeps case. The brevity
penalty uses the reference nearest in length, the shorter one at a tie.

13a tokens are those of mteval-v13a (NIST) as sacrebleu makes them (`sacrebleu.tokenizers.tokenizer_13a`, Post 2018).
Blanks are put around symbols, around a point or comma next to a non-digit, and around a dash behind a digit.
"""

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice


def ngrams(tokens: Sequence[str], order: int) -> Iterable[Hashable]:
    """Return the n-grams of `order` tokens, in text order: tuples, or the tokens themselves for `order` 1."""
    return tokens if order == 1 else zip(*(islice(tokens, start, None) for start in range(order)), strict=False)


def count_ngrams(tokens: Sequence[str], order: int) -> int:
    """Return how many n-grams of `order` tokens a text with these tokens has."""
    return max(len(tokens) - order + 1, 0)


def count_shared_ngrams(reference_counts: Mapping[Hashable, int], candidate_ngrams: Iterable[Hashable]) -> int:
    """Return how many n-grams a candidate shares with a reference.

    A repeated n-gram counts as often as it occurs in both texts. Memory grows with the reference and not with a hostile
    candidate, because only n-grams of the reference are counted.
    """
    shared = Counter(filter(reference_counts.__contains__, candidate_ngrams))
    # Most n-grams occur once: only repeated ones need a comparison of counts.
    repeated = [min(count, reference_counts[each]) - 1 for each, count in shared.items() if count > 1]
    return len(shared) + sum(repeated)


def shared_count_per_reference(
    counts_by_reference: Sequence[Mapping[Hashable, int]], candidate_ngrams: Iterable[Hashable]
) -> list[int]:
    """Return how many n-grams the candidate shares with each reference: see `count_shared_ngrams`."""
    if len(counts_by_reference) == 1:
        return [count_shared_ngrams(counts_by_reference[0], candidate_ngrams)]
    known = set(chain.from_iterable(counts_by_reference))
    shared = Counter(filter(known.__contains__, candidate_ngrams))
    return [
        sum(min(count, shared[each]) for each, count in reference.items() if each in shared)
        for reference in counts_by_reference
    ]


def merge_max_counts(counters: Sequence[Mapping[Hashable, int]]) -> Mapping[Hashable, int]:
    """Return every n-gram with the largest count that any one of the counters has for it."""
    if len(counters) == 1:
        return counters[0]
    largest: dict[Hashable, int] = {}
    for counter in counters:
        for each, count in counter.items():
            largest[each] = max(count, largest.get(each, 0))
    return largest


_ALWAYS_ALONE = '!"#$%&()*+/:;<=>?@[\\]^_`{|}~'
_DIGITS = "0123456789"
_POINT = re.compile(r"\.(?:(?![0-9])|(?<![0-9]\.))")
_COMMA = re.compile(r",(?:(?![0-9])|(?<![0-9],))")
_DASH_AFTER_DIGIT = re.compile(r"-(?<=[0-9]-)")
_SEVERAL_BEFORE_DIGIT = re.compile(r"[.,][.,][0-9]")
_POINT_AFTER_NON_DIGIT = re.compile(r"([^0-9])([.,])")
_POINT_BEFORE_NON_DIGIT = re.compile(r"([.,])([^0-9])")


def tokenize_13a(text: str) -> list[str]:
    """Return the text's 13a tokens, as sacrebleu makes them."""
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    if "&" in text:
        text = text.replace("&quot;", '"').replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")
    for symbol in _ALWAYS_ALONE:
        if symbol in text:
            text = text.replace(symbol, f" {symbol} ")
    if any(digit in text for digit in _DIGITS):
        # The rules read two characters at a time. Of several marks before a digit the last one may stay with it,
        # depending on their number: such texts take the original rules.
        if _SEVERAL_BEFORE_DIGIT.search(text) is None:
            text = _COMMA.sub(" , ", _POINT.sub(" . ", text))
        else:
            text = _POINT_BEFORE_NON_DIGIT.sub(r" \1 \2", _POINT_AFTER_NON_DIGIT.sub(r"\1 \2 ", f" {text} "))
        return _DASH_AFTER_DIGIT.sub(" - ", text).split()
    return text.replace(".", " . ").replace(",", " , ").split()


ORDERS = (1, 2, 3, 4)
_LOG_OF_ZERO = -9999999999
"""Value that sacrebleu uses as the logarithm of 0."""


@dataclass(frozen=True, slots=True)
class BleuReference:
    """Reference texts of one work, tokenised and counted once for all candidates."""

    counts: Mapping[int, Mapping[Hashable, int]]
    """Largest count of each n-gram in any one reference, by order."""
    lengths: Sequence[int]
    """Number of tokens of each reference."""

    @classmethod
    def from_texts(cls, texts: Sequence[str]) -> "BleuReference":
        """Tokenise and count the texts of one or more references."""
        tokenised = [tokenize_13a(text) for text in texts]
        counts = {order: merge_max_counts([Counter(ngrams(tokens, order)) for tokens in tokenised]) for order in ORDERS}
        return cls(counts, [len(tokens) for tokens in tokenised])


def bleu(candidate: str, reference: BleuReference) -> float:
    """Return the BLEU score of a candidate's text, from 0 to 1."""
    tokens = tokenize_13a(candidate)
    correct = [count_shared_ngrams(reference.counts[order], ngrams(tokens, order)) for order in ORDERS]
    if not any(correct):
        return 0.0
    totals = [count_ngrams(tokens, order) for order in ORDERS]
    logs = [math.log(each) if each else _LOG_OF_ZERO for each in _precisions(correct, totals)]
    nearest = min(reference.lengths, key=lambda each: (abs(len(tokens) - each), each))
    brevity_penalty = 1.0 if len(tokens) >= nearest else math.exp(1 - nearest / len(tokens))
    # Rounding makes 1.0000000000000004 of a perfect match.
    return min(brevity_penalty * math.exp(sum(logs) / len(ORDERS)) / 100, 1.0)


def _precisions(correct: Sequence[int], totals: Sequence[int]) -> list[float]:
    """Return the smoothed precision of each order in percent.

    An order without a match has 1 / (2^k · total), where k counts such orders. Orders that are longer than the text
    have 0.
    """
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
