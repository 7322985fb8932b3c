"""Counts of n-grams, and how many of them two texts share."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import chain, islice


def ngrams(tokens: Sequence[str], order: int) -> Iterable[Hashable]:
    """The n-grams of a text in their order: the tokens themselves for `order` 1, else tuples of them."""
    return tokens if order == 1 else zip(*(islice(tokens, start, None) for start in range(order)), strict=False)


def total(tokens: Sequence[str], order: int) -> int:
    """How many n-grams a text has."""
    return max(len(tokens) - order + 1, 0)


def overlap(reference: Mapping[Hashable, int], candidate: Iterable[Hashable]) -> int:
    """Σ over n-grams of min(count in the reference, count in the candidate).

    Only what the reference has is counted, so that memory follows the reference and not a hostile candidate. Most
    n-grams stand in a text once, and their 1 is the smaller count: only the others are looked at one by one.
    """
    shared = Counter(filter(reference.__contains__, candidate))
    repeated = [min(count, reference[each]) - 1 for each, count in shared.items() if count > 1]
    return len(shared) + sum(repeated)


def overlaps(references: Sequence[Mapping[Hashable, int]], candidate: Iterable[Hashable]) -> list[int]:
    """The same for each of several references; the candidate is counted once for all of them."""
    if len(references) == 1:
        return [overlap(references[0], candidate)]
    known = set(chain.from_iterable(references))
    shared = Counter(filter(known.__contains__, candidate))
    return [
        sum(min(count, shared[each]) for each, count in reference.items() if each in shared) for reference in references
    ]


def merged(counters: Sequence[Mapping[Hashable, int]]) -> Mapping[Hashable, int]:
    """Every n-gram with its largest count in any one counter."""
    if len(counters) == 1:
        return counters[0]
    largest: dict[Hashable, int] = {}
    for counter in counters:
        for each, count in counter.items():
            if count > largest.get(each, 0):
                largest[each] = count
    return largest
