"""How alike two texts are, by the edits that lead from one to the other."""

from rapidfuzz.distance import Levenshtein, Postfix, Prefix

LONGEST = 20_000
"""Code points of what differs that are compared one by one: about 15 ms for two such texts."""


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
