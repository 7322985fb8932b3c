"""How alike two texts are, by the edits that lead from one to the other."""

from rapidfuzz.distance import Levenshtein, Postfix, Prefix

LONGEST = 20_000
"""Code points of what differs that are compared one by one: about 15 ms for two such texts."""
_LEAST_KEPT = 0.75
"""Of the longer text that the shorter one has to make up: more than a third again is a new text, not an insertion."""
INSERTED = 0.95
"""The most that texts are alike of which one holds more than the other: no tiny edit, and no other text either."""


def likeness(one: str, other: str) -> float:
    """1 − edit distance over the longer text's length, in [0, 1] (Levenshtein, normalised). Two empty texts are equal.

    Exact where the texts, less what they begin and end with in common, have no more than `LONGEST` code points; beyond
    that the likeness of so many of them stands for the rest.
    """
    longest = max(len(one), len(other))
    if one == other:
        return 1.0
    head = Prefix.similarity(one, other)
    tail = Postfix.similarity(one[head:], other[head:])
    differing, against = one[head : len(one) - tail], other[head : len(other) - tail]
    alike = Levenshtein.normalized_similarity(differing[:LONGEST], against[:LONGEST])
    return (head + tail + alike * max(len(differing), len(against))) / longest


def likeness_but_for_insertions(one: str, other: str) -> float:
    """The likeness, in which a passage that only one of them has counts little. Never less than `likeness`.

    Of the edits as many are left out as one text is longer, and the rest is taken over the shorter text's length: what
    is added to pad a text does not hide that it stays. No more than `INSERTED`, unless they are more alike as they are.
    """
    plain = likeness(one, other)
    shorter, longer = sorted((len(one), len(other)))
    if not shorter or shorter < _LEAST_KEPT * longer:
        return plain
    edits = (1 - plain) * longer - (longer - shorter)
    return max(plain, min(INSERTED, 1 - max(edits, 0.0) / shorter))
