"""Counts of n-grams, and how many of them two texts share."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import islice


def ngrams(tokens: Sequence[str], order: int) -> Iterable[Hashable]:
    """The n-grams of a text in their order: the tokens themselves for `order` 1, else tuples of them."""
    return tokens if order == 1 else zip(*(islice(tokens, start, None) for start in range(order)), strict=False)


def total(tokens: Sequence[str], order: int) -> int:
    """How many n-grams a text has."""
    return max(len(tokens) - order + 1, 0)


def overlap(reference: Mapping[Hashable, int], candidate: Iterable[Hashable]) -> int:
    """Σ over n-grams of min(count in the reference, count in the candidate).

    Only what the reference has is counted, so that memory follows the reference and not a hostile candidate.
    """
    shared = Counter(filter(reference.__contains__, candidate))
    return sum(map(min, shared.values(), map(reference.__getitem__, shared)))
