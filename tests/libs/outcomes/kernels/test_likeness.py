"""How alike two texts are is told from the edits between them, quickly also for long ones."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from aex_outcomes.kernels.likeness import INSERTED, LONGEST, likeness, likeness_but_for_insertions

TEXTS = st.text(alphabet="ab é中", max_size=60)


@given(one=TEXTS, other=TEXTS)
def test_it_is_the_normalised_edit_distance_of_the_whole_texts(one: str, other: str) -> None:
    assert likeness(one, other) == pytest.approx(Levenshtein.normalized_similarity(one, other))


@given(one=TEXTS, other=TEXTS)
def test_it_is_the_same_either_way_and_one_for_equal_texts_alone(one: str, other: str) -> None:
    assert likeness(one, other) == pytest.approx(likeness(other, one))
    assert (likeness(one, other) == 1) == (one == other)


def test_an_edit_far_behind_in_a_long_text_is_seen() -> None:
    before = "a long way to go " * 4_000
    assert likeness(before + "red", before + "blue") == pytest.approx(1 - 4 / (len(before) + 4), abs=1e-6)


@pytest.mark.parametrize("size", [LONGEST, 5 * LONGEST])
def test_long_texts_that_have_nothing_in_common_are_compared_in_bounded_time(size: int) -> None:
    dice = random.Random(7)
    one, other = ("".join(dice.choices("abcdefgh é中", k=size)) for _ in range(2))
    started = time.perf_counter()
    assert 0.1 < likeness(one, other) < 0.4
    assert time.perf_counter() - started < 1  # 20 ms


@given(one=TEXTS, other=TEXTS)
def test_without_insertions_it_is_never_less_and_the_same_either_way(one: str, other: str) -> None:
    found = likeness_but_for_insertions(one, other)
    assert likeness(one, other) <= found <= max(INSERTED, likeness(one, other))
    assert found == pytest.approx(likeness_but_for_insertions(other, one))


def test_a_passage_that_one_has_alone_counts_little_and_a_text_that_is_far_longer_is_another() -> None:
    assert likeness_but_for_insertions("a b c " * 20, "a b c " * 20 + "x" * 30) == INSERTED
    assert likeness_but_for_insertions("a b c " * 20, "a b c " * 40) == pytest.approx(0.5)
