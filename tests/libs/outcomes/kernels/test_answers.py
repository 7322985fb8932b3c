"""Equality, word F1 and character similarity of answers."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

from aex_outcomes.kernels.answers import (
    MAX_STEPS,
    answer_f1,
    equals_any_answer,
    fuzzy_ratio,
    levenshtein_similarity,
    normalize_answer,
)
from aex_outcomes.kernels.rouge import TooManySteps
from tests.fidelity.squad import squad_exact, squad_f1

TEXTS = st.text(alphabet="aAnthe .,!'-\t\né\u0301日本５５", max_size=30)


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("The Eiffel  Tower!", "eiffel tower"),
        ("An a-b, the c.", "ab c"),
        ("the a an", ""),
        ("U.S.A. 1,000", "usa 1000"),
        ("«Été» THE\u3000日本", "«été» 日本"),
        ("theatre", "theatre"),
    ],
)
def test_normalisation_drops_case_punctuation_articles_and_blanks(text: str, normalized: str) -> None:
    assert normalize_answer(text) == normalized


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
def test_equality_and_f1_are_those_of_squad(text: str, references: list[str]) -> None:
    assert equals_any_answer(text, references) is squad_exact(text, references)
    assert answer_f1(text, references) == squad_f1(text, references)


@pytest.mark.parametrize(
    ("text", "reference", "expected"),
    [("", "the", 1), ("", "cat", 0), ("cat", "!", 0), ("cat cat dog", "cat dog dog", 2 / 3), ("cat", "dog", 0)],
)
def test_f1_of_texts_without_words_is_0_or_1(text: str, reference: str, expected: float) -> None:
    assert answer_f1(text, [reference]) == pytest.approx(expected)


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
def test_similarities_of_characters_are_those_of_rapidfuzz_with_the_best_reference(
    text: str, references: list[str]
) -> None:
    assert levenshtein_similarity(text, references) == max(
        Levenshtein.normalized_similarity(text, each) for each in references
    )
    assert fuzzy_ratio(text, references) == max(fuzz.ratio(text, each) for each in references) / 100


def test_two_empty_texts_are_equal() -> None:
    assert levenshtein_similarity("", [""]) == fuzzy_ratio("", [""]) == 1
    assert levenshtein_similarity("", ["a"]) == fuzzy_ratio("", ["a"]) == 0


@pytest.mark.parametrize("measure", [levenshtein_similarity, fuzzy_ratio])
def test_a_text_too_long_for_its_references_is_refused_at_once(measure: object) -> None:
    assert callable(measure)
    started = time.process_time()
    for text, references in (("é" * 1_000_000, ["日" * 100_000]), ("x" * 1_000_000, ["y"] * 1_000)):
        with pytest.raises(TooManySteps, match="too many characters"):
            measure(text, references)
    assert time.process_time() - started < 1
    assert MAX_STEPS // (100_000 + 1_000) > 190_000


def test_words_of_a_million_characters_take_linear_time() -> None:
    started = time.process_time()
    assert answer_f1("a b " * 250_000, ["b " * 250_000]) == 1
    assert not equals_any_answer("." * 1_000_000, ["x", "y"] * 10_000)
    assert time.process_time() - started < 5
