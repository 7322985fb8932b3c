"""Counts of n-grams over one and several references."""

from collections import Counter
from collections.abc import Hashable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from aex_outcomes.kernels.ngrams import merged, overlap, overlaps

TOKENS = st.lists(st.sampled_from("abcd"), max_size=8)


@given(st.lists(TOKENS, min_size=1, max_size=4), TOKENS)
def test_a_candidate_shares_with_each_of_several_references_what_it_shares_with_it_alone(
    references: list[list[str]], candidate: list[str]
) -> None:
    counts: list[Mapping[Hashable, int]] = [Counter[Hashable](each) for each in references]
    assert overlaps(counts, candidate) == [overlap(each, candidate) for each in counts]
    assert overlaps(counts, candidate) == [(Counter(each) & Counter(candidate)).total() for each in references]


@given(st.lists(TOKENS, min_size=1, max_size=4))
def test_of_several_counts_the_largest_is_kept(references: list[list[str]]) -> None:
    largest: Counter[str] = Counter()
    for each in references:
        largest |= Counter(each)
    assert merged([Counter(each) for each in references]) == largest
