"""BLEU equals sacrebleu."""

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from aex_outcomes.kernels.bleu import BleuReference, bleu
from tests.libs.outcomes.kernels.texts import pairs, prose


def ours(candidate: str, references: list[str]) -> float:
    return bleu(candidate, BleuReference.of(references))


def theirs(candidate: str, references: list[str]) -> float:
    return sacrebleu.corpus_bleu([candidate], [[each] for each in references]).score / 100


def assert_equal(candidate: str, references: list[str]) -> None:
    assert ours(candidate, references) == pytest.approx(theirs(candidate, references), abs=1e-9), (
        candidate,
        references,
    )


def test_scores_equal_sacrebleu_on_2000_random_and_adversarial_pairs() -> None:
    for candidate, references in pairs(seed=21, count=2_000, longest=24):
        assert_equal(candidate, references)


@pytest.mark.slow
def test_scores_equal_sacrebleu_on_10000_pairs_and_long_texts() -> None:
    for candidate, references in pairs(seed=22, count=10_000, longest=60):
        assert_equal(candidate, references)
    assert_equal(prose(1, 5_000), [prose(2, 4_000), prose(1, 700)])


@given(st.text(max_size=60), st.lists(st.text(max_size=60), min_size=1, max_size=3))
def test_scores_equal_sacrebleu_on_any_unicode(candidate: str, references: list[str]) -> None:
    assert_equal(candidate, references)


@pytest.mark.parametrize(("candidate", "reference"), [("", ""), ("", "a"), ("a", ""), ("a b", "c d"), (" ", " ")])
def test_texts_that_share_nothing_score_0(candidate: str, reference: str) -> None:
    assert ours(candidate, [reference]) == theirs(candidate, [reference]) == 0.0


def test_a_copy_of_four_tokens_scores_1() -> None:
    assert ours("the cat sat down", ["the cat sat down"]) == pytest.approx(1.0, abs=1e-12)


def test_short_candidates_pay_the_brevity_penalty_against_the_nearest_reference() -> None:
    references = ["a b c d e f g h", "a b c d e f g h i j k l"]
    assert ours("a b c d e f", references) == pytest.approx(theirs("a b c d e f", references), abs=1e-12)
    assert ours("a b c d e f", references) < 1


def test_a_prepared_reference_gives_the_same_score_for_every_candidate() -> None:
    prepared = BleuReference.of([prose(1, 300)])
    candidates = [prose(seed, 200) for seed in range(5)]
    assert [bleu(each, prepared) for each in candidates] == [ours(each, [prose(1, 300)]) for each in candidates]
