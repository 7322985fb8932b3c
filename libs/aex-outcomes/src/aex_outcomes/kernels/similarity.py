"""Similarity of two texts: by edits, and by words in any script.

The similarity by words is the greater of two figures:

- the F-measure of the longest common subsequence of both texts' words;
- the share of the reference's words that the text contains in runs of five, at any position.

The second one finds copies of a reference with other text around it or between its sentences. A text many times
as long contains most of a short reference as a subsequence by chance. Runs are searched only where the reference
is prose: correct labels, numbers and fields of data occur in every answer.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import chain

from rapidfuzz.distance import Levenshtein, Postfix, Prefix

from aex_outcomes.kernels.bleu import ngrams
from aex_outcomes.kernels.normalization import clauses_of
from aex_outcomes.kernels.rouge import longest_common_subsequence

MAX_COMPARED = 20_000
"""Code points of the differing parts that are compared: about 15 ms for two such texts."""
_MIN_LENGTH_RATIO = 0.75
"""Shorter over longer length from which on the difference counts as an insertion, not as a new text."""
MAX_WITH_INSERTION = 0.95
"""Greatest similarity of texts of which one contains an insertion."""


def edit_similarity(one: str, other: str) -> float:
    """Return 1 − edit distance over the longer length, in [0, 1] (Levenshtein, normalised).

    Two empty texts are equal. The result is exact if the texts, without common prefix and suffix, have at most
    `MAX_COMPARED` code points. Beyond, the similarity of so many stands for the rest.
    """
    longest = max(len(one), len(other))
    if one == other:
        return 1.0
    head = Prefix.similarity(one, other)
    tail = Postfix.similarity(one[head:], other[head:])
    differing, against = one[head : len(one) - tail], other[head : len(other) - tail]
    similarity = Levenshtein.normalized_similarity(differing[:MAX_COMPARED], against[:MAX_COMPARED])
    return (head + tail + similarity * max(len(differing), len(against))) / longest


def similarity_ignoring_insertions(one: str, other: str) -> float:
    """Return the similarity with a reduced weight of a passage that only one text has.

    It is at least `edit_similarity`. As many edits are ignored as one text is longer. The rest is divided by the
    shorter length, so that padding does not hide a copy. At most `MAX_WITH_INSERTION`, unless the plain similarity is
    greater.
    """
    plain = edit_similarity(one, other)
    shorter, longer = sorted((len(one), len(other)))
    if not shorter or shorter < _MIN_LENGTH_RATIO * longer:
        return plain
    edits = (1 - plain) * longer - (longer - shorter)
    return max(plain, min(MAX_WITH_INSERTION, 1 - max(edits, 0.0) / shorter))


MAX_WORDS = 20_000
"""Words of either text, from its beginning, whose common subsequence is computed."""
MAX_STEPS = 2_000_000_000
"""Products of the two numbers of words, over all references: the most promising ones are compared first."""
_RUN, _RUN_OF_CHARACTERS = 5, 8
"""Words in a row that are no coincidence; in scripts without spaces characters, with about the same information."""
MIN_WORDS = 30
"""Words of a reference from which on its runs are searched: shorter ones are short answers."""
_SHORT_CLAUSE = 3
"""Words; labels, names and fields of data have at most as many."""
_SINGLE_CHARACTER = 0.6
"""Words; in scripts without spaces a word has 1.7 characters on average."""
_MIN_SHARE = 0.3
"""Share of the reference's words in longer clauses that makes it prose."""
_MIN_DISTINCT = 15
"""Different words in longer clauses: prose of thirty words has more, series of labels have fewer."""


@dataclass(frozen=True, slots=True)
class ReferenceWords:
    """Words of a reference, and the length of its runs."""

    words: Sequence[str]
    run_length: int | None
    """Number of words in a run; None for a reference that is no prose."""

    @classmethod
    def parse(cls, text: str) -> "ReferenceWords":
        """Read a reference."""
        clauses = clauses_of(text)
        words = list(chain.from_iterable(clauses))
        if len(words) < MIN_WORDS:
            return cls(words, None)
        prose_words = [word for clause in clauses if _is_long(clause) for word in clause]
        is_prose = len(prose_words) >= _MIN_SHARE * len(words) and len(set(prose_words)) >= _MIN_DISTINCT
        run = _RUN_OF_CHARACTERS if 2 * [*map(len, words)].count(1) > len(words) else _RUN
        return cls(words, run if is_prose else None)


def word_similarity(words: Sequence[str], references: Sequence[ReferenceWords]) -> float:
    """Return the similarity of a text with these words to the nearest reference, in [0, 1]."""
    if not words or not references:
        return 0.0
    return max(_best_run_share(words, references), _best_f_measure(words[:MAX_WORDS], references))


def _best_f_measure(words: Sequence[str], references: Sequence[ReferenceWords]) -> float:
    """Return the greatest F-measure; references with too few shared words are skipped."""
    best, steps = 0.0, 0
    for bound, reference in _by_upper_bound(words, [each.words[:MAX_WORDS] for each in references]):
        steps += len(words) * len(reference)
        if bound <= best or steps > MAX_STEPS:
            break
        best = max(best, _f_measure(longest_common_subsequence(reference, words), len(words), len(reference)))
    return best


def _by_upper_bound(words: Sequence[str], references: Sequence[Sequence[str]]) -> Sequence[tuple[float, Sequence[str]]]:
    """Return the references with upper bounds of their F-measures, from shared words in any order."""
    if len(references) == 1:  # is compared in any case
        return [(1.0, references[0])]
    counts = Counter(words)
    bounds = [_f_measure((counts & Counter(each)).total(), len(words), len(each)) for each in references]
    return sorted(zip(bounds, references, strict=True), key=lambda pair: -pair[0])


def _f_measure(shared: int, words: int, reference: int) -> float:
    return 2 * shared / (words + reference)


def _best_run_share(words: Sequence[str], references: Sequence[ReferenceWords]) -> float:
    """Return the greatest share of a reference's words that lie in runs of the text."""
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
    """Return True for a clause with more words than a short one; numbers do not count."""
    weights = [_SINGLE_CHARACTER if len(word) == 1 else 1.0 for word in clause if not word.isdecimal()]
    return len(clause) > _SHORT_CLAUSE and sum(weights) > _SHORT_CLAUSE
