"""Sketches are stored: the same words must have the same sketch in every version."""

from itertools import pairwise, product

from hypothesis import given
from hypothesis import strategies as st
from rensa import RMinHash

from aex_governance.text.free_text import (
    BANDS,
    PERMUTATIONS,
    compute_sketch,
    decode_sketch,
    encode_sketch,
    similarity,
    sketch_bands,
)

GOLDEN = (3_359_270_864, 3_227_119_383, 3_376_037_360, 3_341_484_995, 3_537_572_336)
WORDS = [f"word{number}" for number in range(200)]


def test_algorithm_matches_stored_sketches() -> None:
    """Compare with stored sketches. On failure keep the library's version, or rebuild the sketches."""
    assert RMinHash.ALGORITHM_VERSION == 2
    made = compute_sketch(["the", "quick", "brown", "fox", "jumps"])
    assert (made[:4], made[-1]) == (GOLDEN[:4], GOLDEN[4])


def test_order_and_the_number_of_equal_shingles_do_not_matter() -> None:
    assert compute_sketch(["a", "b", "a", "b", "a"]) == compute_sketch(["b", "a", "b"])


def test_similarity_is_that_of_the_shingles() -> None:
    for kept in (200, 150, 100, 20):
        other = WORDS[:kept] + [f"other{number}" for number in range(200 - kept)]
        shingles = [set(pairwise(words)) for words in (WORDS, other)]
        jaccard = len(shingles[0] & shingles[1]) / len(shingles[0] | shingles[1])
        assert abs(similarity(compute_sketch(WORDS), compute_sketch(other)) - jaccard) < 0.15


def test_sketch_has_numbered_bands() -> None:
    bands = sketch_bands(compute_sketch(WORDS))
    assert len(bands) == len(set(bands)) == BANDS <= 16
    same = (1,) * PERMUTATIONS
    assert len(set(sketch_bands(same))) == BANDS


def test_similar_texts_share_a_band_and_others_do_not() -> None:
    near = [word if number % 20 else "else" for number, word in enumerate(WORDS)]
    far = [f"{word}x" for word in WORDS]
    found = {name: sketch_bands(compute_sketch(words)) for name, words in (("it", WORDS), ("near", near), ("far", far))}
    assert set(found["it"]) & set(found["near"])
    assert not any(left == right for left, right in product(found["it"], found["far"]))


@given(st.lists(st.integers(0, 2**32 - 1), max_size=130))
def test_sketch_is_read_as_it_was_written(minima: list[int]) -> None:
    assert decode_sketch(encode_sketch(tuple(minima))) == tuple(minima)
