import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from aex_outcomes.kernels.similarity import (
    MAX_COMPARED,
    MAX_WITH_INSERTION,
    edit_similarity,
    similarity_discounting_insertions,
)

TEXTS = st.text(alphabet="ab é中", max_size=60)


@given(one=TEXTS, other=TEXTS)
def test_similarity_equals_normalised_edit_distance_both_ways(one: str, other: str) -> None:
    expected = pytest.approx(Levenshtein.normalized_similarity(one, other))
    assert edit_similarity(one, other) == expected
    assert edit_similarity(other, one) == expected
    assert (edit_similarity(one, other) == 1) == (one == other)


def test_an_edit_far_behind_in_a_long_text_is_seen() -> None:
    before = "a long way to go " * 4_000
    assert edit_similarity(before + "red", before + "blue") == pytest.approx(1 - 4 / (len(before) + 4), abs=1e-6)


@pytest.mark.parametrize("size", [MAX_COMPARED, 5 * MAX_COMPARED])
def test_long_texts_that_have_nothing_in_common_are_compared_in_bounded_time(size: int) -> None:
    dice = random.Random(7)
    one, other = ("".join(dice.choices("abcdefgh é中", k=size)) for _ in range(2))
    started = time.process_time()
    assert 0.1 < edit_similarity(one, other) < 0.4
    assert time.process_time() - started < 1  # 20 ms


@given(one=TEXTS, other=TEXTS)
def test_without_insertions_it_is_never_less_and_the_same_either_way(one: str, other: str) -> None:
    found = similarity_discounting_insertions(one, other)
    assert edit_similarity(one, other) <= found <= max(MAX_WITH_INSERTION, edit_similarity(one, other))
    assert found == pytest.approx(similarity_discounting_insertions(other, one))


def test_a_passage_that_one_has_alone_counts_little_and_a_text_that_is_far_longer_is_another() -> None:
    assert similarity_discounting_insertions("a b c " * 20, "a b c " * 20 + "x" * 30) == MAX_WITH_INSERTION
    assert similarity_discounting_insertions("a b c " * 20, "a b c " * 40) == pytest.approx(0.5)
