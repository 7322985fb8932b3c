"""Similarity of two texts, from 0 to 1: by edits, and by words in any script.

The similarity by words is the greater of two figures:

- the F-measure of the longest common subsequence of both texts' words;
- the share of the reference's words that occur in the text in runs of five, at any position.

The share of runs finds copies of a reference that have other text around it or between its sentences. Runs are searched
only in prose, because correct labels, numbers and fields of data occur in every answer.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import chain

from rapidfuzz.distance import Levenshtein, Postfix, Prefix

from aex_outcomes.kernels.bleu import ngrams
from aex_outcomes.kernels.normalization import split_clauses
from aex_outcomes.kernels.rouge import lcs_length

MAX_COMPARED = 20_000
"""Maximum of compared code points of each text's differing part: takes about 15 ms."""
_MIN_LENGTH_RATIO = 0.75
"""Shorter length over longer length from which the difference is treated as an insertion."""
MAX_WITH_INSERTION = 0.95
"""Maximum similarity of two texts of which one contains an insertion."""


def edit_similarity(one: str, other: str) -> float:
    """Return 1 minus the Levenshtein distance divided by the longer length, from 0 to 1.

    Two empty texts have 1. Without common prefix and suffix, only the first `MAX_COMPARED` code points of each text are
    compared; the result is exact if neither has more.
    """
    longest = max(len(one), len(other))
    if one == other:
        return 1.0
    head = Prefix.similarity(one, other)
    tail = Postfix.similarity(one[head:], other[head:])
    differing, against = one[head : len(one) - tail], other[head : len(other) - tail]
    similarity = Levenshtein.normalized_similarity(differing[:MAX_COMPARED], against[:MAX_COMPARED])
    return (head + tail + similarity * max(len(differing), len(against))) / longest


def similarity_discounting_insertions(one: str, other: str) -> float:
    """Return `edit_similarity`, or more if one text is the other with some text inserted, from 0 to 1.

    The order of the texts does not matter. As many edits are ignored as one text is longer, and the other edits are
    divided by the shorter length. This applies if the shorter text has three quarters of the longer one's length. The
    result is raised to at most `MAX_WITH_INSERTION`.
    """
    plain = edit_similarity(one, other)
    shorter, longer = sorted((len(one), len(other)))
    if not shorter or shorter < _MIN_LENGTH_RATIO * longer:
        return plain
    edits = (1 - plain) * longer - (longer - shorter)
    return max(plain, min(MAX_WITH_INSERTION, 1 - max(edits, 0.0) / shorter))


MAX_WORDS = 20_000
"""Maximum of each text's first words of which the longest common subsequence is computed."""
MAX_STEPS = 2_000_000_000
"""Maximum of the products of the two texts' numbers of words, summed over all references."""
_RUN, _RUN_OF_CHARACTERS = 5, 8
"""Length of a run in words, and in characters for scripts without spaces: equal runs are no coincidence."""
MIN_WORDS = 30
"""Minimum of words of a reference whose runs are searched: a shorter one is a short answer."""
_SHORT_CLAUSE = 3
"""Maximum of words of a short clause, such as a label, a name or a field of data."""
_SINGLE_CHARACTER = 0.6
"""Weight of a single character as a word: in scripts without spaces a word has 1.7 characters on average."""
_MIN_SHARE = 0.3
"""Minimum share of a reference's words in longer clauses that makes it prose."""
_MIN_DISTINCT = 15
"""Minimum of different words in longer clauses of prose: series of labels have fewer."""


@dataclass(frozen=True, slots=True)
class ReferenceWords:
    """Words of a reference text, prepared for comparisons."""

    words: Sequence[str]
    run_length: int | None
    """Number of words in the runs to search; None if the reference is no prose, so that none are searched."""

    @classmethod
    def parse(cls, text: str) -> "ReferenceWords":
        """Split a reference text into words, and decide whether it is prose."""
        clauses = split_clauses(text)
        words = list(chain.from_iterable(clauses))
        if len(words) < MIN_WORDS:
            return cls(words, None)
        prose_words = [word for clause in clauses if _is_long(clause) for word in clause]
        is_prose = len(prose_words) >= _MIN_SHARE * len(words) and len(set(prose_words)) >= _MIN_DISTINCT
        run = _RUN_OF_CHARACTERS if 2 * [*map(len, words)].count(1) > len(words) else _RUN
        return cls(words, run if is_prose else None)


def word_similarity(words: Sequence[str], references: Sequence[ReferenceWords]) -> float:
    """Return the similarity of a text's words to the most similar reference, from 0 to 1.

    It is 0 if there are no words or no references.
    """
    if not words or not references:
        return 0.0
    return max(_best_run_share(words, references), _best_f_measure(words[:MAX_WORDS], references))


def _best_f_measure(words: Sequence[str], references: Sequence[ReferenceWords]) -> float:
    """Return the greatest F-measure with any reference; those that cannot exceed it are skipped.

    After `MAX_STEPS` the remaining references, which share fewer words, are skipped too.
    """
    best, steps = 0.0, 0
    for bound, reference in _by_upper_bound(words, [each.words[:MAX_WORDS] for each in references]):
        steps += len(words) * len(reference)
        if bound <= best or steps > MAX_STEPS:
            break
        best = max(best, _f_measure(lcs_length(reference, words), len(words), len(reference)))
    return best


def _by_upper_bound(words: Sequence[str], references: Sequence[Sequence[str]]) -> Sequence[tuple[float, Sequence[str]]]:
    """Return each reference with an upper bound of its F-measure, the greatest first.

    The bound counts shared words in any order.
    """
    if len(references) == 1:  # is compared in any case
        return [(1.0, references[0])]
    counts = Counter(words)
    bounds = [_f_measure((counts & Counter(each)).total(), len(words), len(each)) for each in references]
    return sorted(zip(bounds, references, strict=True), key=lambda pair: -pair[0])


def _f_measure(shared: int, words: int, reference: int) -> float:
    return 2 * shared / (words + reference)


def _best_run_share(words: Sequence[str], references: Sequence[ReferenceWords]) -> float:
    """Return the greatest share of a reference's words that are in runs which the text contains."""
    best = 0.0
    for size in (_RUN, _RUN_OF_CHARACTERS):
        prose = [each.words for each in references if each.run_length == size]
        runs = {run for reference in prose for run in ngrams(reference, size)}
        found = runs.intersection(ngrams(words, size)) if runs else runs
        if found:
            best = max(best, *(_count_covered(each, size, found) / len(each) for each in prose))
    return best


def _count_covered(reference: Sequence[str], size: int, found: set[Hashable]) -> int:
    covered = end = 0
    for position, run in enumerate(ngrams(reference, size)):
        if run in found:
            covered += position + size - max(end, position)
            end = position + size
    return covered


def _is_long(clause: Sequence[str]) -> bool:
    """Return True for a clause with more words than a short one; numbers are not counted."""
    weights = [_SINGLE_CHARACTER if len(word) == 1 else 1.0 for word in clause if not word.isdecimal()]
    return len(clause) > _SHORT_CLAUSE and sum(weights) > _SHORT_CLAUSE
