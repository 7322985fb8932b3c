"""How near a text comes to a reference, word for word, in any script.

Two figures, of which the greater counts:

- the F-measure of the longest common subsequence of both texts' words: how much of either is the other's;
- the share of the reference's words that the text has in runs of five, wherever they stand: a reference that is handed
  in whole, with as much else around it or between its sentences, is a copy too. A common subsequence does not tell
  that, since one with a text many times as long goes through most of a short reference by chance.

Runs are looked for where the reference is prose: right labels, numbers and fields of data stand in everybody's answer.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from aex_outcomes.kernels.subsequence import longest_common_subsequence
from aex_outcomes.kernels.words import clauses_of

MOST_WORDS = 20_000
"""Words of either text, from its beginning, whose common subsequence is looked for."""
MAX_STEPS = 2_000_000_000
"""Products of the two numbers of words, over all references: the likeliest ones are compared first."""
_RUN, _RUN_OF_CHARACTERS = 5, 8
"""Words in a row that are no coincidence; in scripts without spaces characters, which say about as much."""
MIN_WORDS = 30
"""Words of a reference from which on its runs are looked for: shorter ones are short answers."""
_SHORT_CLAUSE = 3
"""Words; labels, names and fields of data have no more."""
_SINGLE_CHARACTER = 0.6
"""Of a word: in scripts without spaces a word has 1.7 characters on average."""
_MIN_SHARE = 0.3
"""Share of the reference's words that lie in longer clauses where it is prose."""
_MIN_DISTINCT = 15
"""Different words in longer clauses: prose of thirty words has more, series of labels have fewer."""
_Run = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReferenceWords:
    """A reference as it is looked for."""

    words: Sequence[str]
    run: int | None
    """Length of the runs that are looked for; None where it is no prose."""

    @classmethod
    def of(cls, text: str) -> "ReferenceWords":
        """Read a reference."""
        clauses = clauses_of(text)
        words = list(chain.from_iterable(clauses))
        if len(words) < MIN_WORDS:
            return cls(words, None)
        told = [word for clause in clauses if _is_long(clause) for word in clause]
        is_prose = len(told) >= _MIN_SHARE * len(words) and len(set(told)) >= _MIN_DISTINCT
        run = _RUN_OF_CHARACTERS if 2 * [*map(len, words)].count(1) > len(words) else _RUN
        return cls(words, run if is_prose else None)


def word_likeness(words: Sequence[str], references: Sequence[ReferenceWords]) -> float:
    """How near a text of these words (`keywords.words_of`) is to the nearest of the references, in [0, 1]."""
    if not words or not references:
        return 0.0
    return max(_contained(words, references), _alike(words[:MOST_WORDS], references))


def _alike(words: Sequence[str], references: Sequence[ReferenceWords]) -> float:
    """The greatest F-measure. What shares too few words to have a greater one is not gone through."""
    best, steps = 0.0, 0
    for bound, reference in _likeliest_first(words, [each.words[:MOST_WORDS] for each in references]):
        steps += len(words) * len(reference)
        if bound <= best or steps > MAX_STEPS:
            break
        best = max(best, _f_measure(longest_common_subsequence(reference, words), len(words), len(reference)))
    return best


def _likeliest_first(
    words: Sequence[str], references: Sequence[Sequence[str]]
) -> Sequence[tuple[float, Sequence[str]]]:
    """The references with the most that their F-measures can be: by words in common, in whatever order."""
    if len(references) == 1:  # will be gone through in any case
        return [(1.0, references[0])]
    counts = Counter(words)
    bounds = [_f_measure((counts & Counter(each)).total(), len(words), len(each)) for each in references]
    return sorted(zip(bounds, references, strict=True), key=lambda pair: -pair[0])


def _f_measure(shared: int, words: int, reference: int) -> float:
    return 2 * shared / (words + reference)


def _contained(words: Sequence[str], references: Sequence[ReferenceWords]) -> float:
    """The greatest share of a reference's words that stand in runs of the text."""
    best = 0.0
    for size in (_RUN, _RUN_OF_CHARACTERS):
        prose = [each.words for each in references if each.run == size]
        wanted = {run for reference in prose for run in _runs(reference, size)}
        found = wanted.intersection(_runs(words, size)) if wanted else wanted
        if found:
            best = max(best, *(_covered(each, size, found) / len(each) for each in prose))
    return best


def _covered(reference: Sequence[str], size: int, found: set[_Run]) -> int:
    covered = end = 0
    for place, run in enumerate(_runs(reference, size)):
        if run in found:
            covered += place + size - max(end, place)
            end = place + size
    return covered


def _runs(words: Sequence[str], size: int) -> Iterable[_Run]:
    return zip(*(words[start:] for start in range(size)), strict=False)


def _is_long(clause: Sequence[str]) -> bool:
    """Figures do not count."""
    if len(clause) <= _SHORT_CLAUSE:
        return False
    return (
        sum([_SINGLE_CHARACTER if len(word) == 1 else 1.0 for word in clause if not word.isdecimal()]) > _SHORT_CLAUSE
    )
