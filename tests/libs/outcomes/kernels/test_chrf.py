"""chrF, compared with sacrebleu."""

import time

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from aex_outcomes.kernels.chrf import MAX_PREPARED, ChrfReferences, chrf
from tests.libs.outcomes.kernels.texts import pairs, prose

BAR = 1e-9
TEXTS = st.text(alphabet=st.sampled_from("ab \t\n\x1c\x85\u00a0\u200b\u3000é\u0301日本\U0001f600"), max_size=25)


def own(text: str, references: list[str]) -> float:
    return chrf(text, ChrfReferences.from_texts(references))


def sacrebleu_score(text: str, references: list[str]) -> float:
    return sacrebleu.sentence_chrf(text, references).score / 100


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
def test_texts_of_blanks_and_other_scripts_score_as_in_sacrebleu(text: str, references: list[str]) -> None:
    assert own(text, references) == pytest.approx(sacrebleu_score(text, references), abs=BAR)


def test_adversarial_texts_score_as_in_sacrebleu() -> None:
    for text, references in pairs(seed=11, count=300):
        assert own(text, references) == pytest.approx(sacrebleu_score(text, references), abs=BAR)


@pytest.mark.parametrize(
    ("text", "references", "expected"),
    [("", [""], 0), (" \n", ["x"], 0), ("x", ["\u3000"], 0), ("a b", ["ab", "c"], 1), ("日 本", ["日本"], 1)],
)
def test_white_space_does_not_count_and_a_text_without_other_characters_scores_0(
    text: str, references: list[str], expected: float
) -> None:
    assert own(text, references) == expected == sacrebleu_score(text, references)


def test_references_too_long_to_be_prepared_have_the_same_score() -> None:
    reference, text = prose(1, 5_000), prose(2, 300)
    assert len(reference) > MAX_PREPARED
    assert not ChrfReferences.from_texts([reference]).counts
    assert own(text, [reference, text[:50]]) == pytest.approx(sacrebleu_score(text, [reference, text[:50]]), abs=BAR)


@pytest.mark.slow
def test_a_million_characters_take_linear_time_also_against_many_references() -> None:
    started = time.process_time()
    assert 0 < own("ab" * 500_000, ["abc" * 10] * 3_000) < 1
    assert time.process_time() - started < 15
