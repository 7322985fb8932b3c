from collections import Counter
from collections.abc import Hashable
from functools import reduce
from operator import or_

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from aex_outcomes.kernels.bleu import (
    BleuReference,
    bleu,
    count_shared_ngrams,
    merge_max_counts,
    shared_count_per_reference,
)
from tests.libs.outcomes.kernels.texts import pairs, prose


def score(candidate: str, references: list[str]) -> float:
    return bleu(candidate, BleuReference.from_texts(references))


def sacrebleu_score(candidate: str, references: list[str]) -> float:
    return sacrebleu.corpus_bleu([candidate], [[each] for each in references]).score / 100


def assert_equal(candidate: str, references: list[str]) -> None:
    expected = pytest.approx(sacrebleu_score(candidate, references), abs=1e-9)
    assert score(candidate, references) == expected, (candidate, references)


def test_scores_equal_sacrebleu_on_adversarial_pairs() -> None:
    for candidate, references in pairs(seed=21, count=500, longest=40):
        assert_equal(candidate, references)
    assert_equal(prose(1, 1_000), [prose(2, 900), prose(1, 700)])


@given(st.text(max_size=60), st.lists(st.text(max_size=60), min_size=1, max_size=3))
def test_scores_equal_sacrebleu_on_any_unicode(candidate: str, references: list[str]) -> None:
    assert_equal(candidate, references)


def test_rounding_makes_no_score_above_1() -> None:
    assert score("the cat sat on the mat", ["the cat sat on the mat"]) == 1


def test_copy_scores_1_and_short_candidates_pay_the_brevity_penalty() -> None:
    assert score("the cat sat down", ["the cat sat down"]) == pytest.approx(1.0, abs=1e-12)
    references = ["a b c d e f g h", "a b c d e f g h i j k l"]
    assert score("a b c d e f", references) == pytest.approx(sacrebleu_score("a b c d e f", references), abs=1e-12)
    assert score("a b c d e f", references) < 1


TOKENS = st.lists(st.sampled_from("abcd"), max_size=8)


@given(st.lists(TOKENS, min_size=1, max_size=4), TOKENS)
def test_counts_equal_those_of_counter(references: list[list[str]], candidate: list[str]) -> None:
    counts = [Counter[Hashable](each) for each in references]
    assert shared_count_per_reference(counts, candidate) == [count_shared_ngrams(each, candidate) for each in counts]
    assert shared_count_per_reference(counts, candidate) == [
        (each & Counter[Hashable](candidate)).total() for each in counts
    ]
    assert merge_max_counts(counts) == reduce(or_, counts)
