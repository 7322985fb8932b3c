"""The longest common subsequence, in both ways."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import LCSseq

from aex_outcomes.kernels.subsequence import by_big_integers, longest_common_subsequence

NUMBERS = st.lists(st.integers(0, 4), max_size=60)


def plain(left: list[int], right: list[int]) -> int:
    """The table of dynamic programming, row by row."""
    row = [0] * (len(right) + 1)
    for item in left:
        above = row
        row = [0]
        for position, other in enumerate(right):
            row.append(above[position] + 1 if item == other else max(above[position + 1], row[position]))
    return row[-1]


@given(NUMBERS, NUMBERS, st.sampled_from([1, 2, 7, 8, 16_384]))
def test_big_integers_give_what_the_table_gives_whatever_the_blocks(
    left: list[int], right: list[int], block_bits: int
) -> None:
    assert by_big_integers(left, right, block_bits) == plain(left, right)


@given(NUMBERS, NUMBERS)
def test_the_length_is_that_of_the_table(left: list[int], right: list[int]) -> None:
    assert longest_common_subsequence([str(each) for each in left], [str(each) for each in right]) == plain(left, right)


def test_tokens_without_a_common_one_have_none() -> None:
    assert longest_common_subsequence(["a", "b"], ["c"]) == 0


@pytest.mark.parametrize("words", [300, 4_000, 9_000])
def test_long_texts_of_many_words_give_what_rapidfuzz_gives(words: int) -> None:
    source = random.Random(5)
    left, right = ([f"w{source.randrange(words)}" for _ in range(21_000)] for _ in range(2))
    assert longest_common_subsequence(left, right) == LCSseq.similarity(left, right)


def test_100000_tokens_of_many_words_finish_quickly() -> None:
    source = random.Random(6)
    left, right = ([str(source.randrange(9_000)) for _ in range(100_000)] for _ in range(2))
    started = time.perf_counter()
    assert longest_common_subsequence(left, right) > 0
    assert time.perf_counter() - started < 30  # about 2 s
