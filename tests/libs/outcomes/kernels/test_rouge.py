import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import LCSseq
from rouge_score.rouge_scorer import RougeScorer

from aex_outcomes.kernels.rouge import (
    MAX_REFERENCE_TOKENS,
    RougeReference,
    TooManySteps,
    is_rouge_type,
    lcs_length,
    lcs_length_by_big_integers,
    rouge,
    tokenize_for_rouge,
)
from tests.libs.outcomes.kernels.texts import pairs, prose

TYPES = ("rouge1", "rouge2", "rougeL")
ORACLE = RougeScorer(list(TYPES))


def own(candidate: str, references: list[str]) -> dict[str, float]:
    return rouge(candidate, [RougeReference.from_text(each, TYPES) for each in references], TYPES)


def assert_equal(candidate: str, references: list[str]) -> None:
    reference = ORACLE.score_multi(references, candidate)
    for name, score in own(candidate, references).items():
        assert score == pytest.approx(reference[name].fmeasure, abs=1e-9), (name, candidate, references)


def test_scores_equal_rouge_score_on_adversarial_pairs() -> None:
    for candidate, references in pairs(seed=11, count=500, longest=40):
        assert_equal(candidate, references)
    assert_equal(prose(1, 500), [prose(2, 400), prose(1, 300)])


@given(st.text(max_size=60), st.text(max_size=60))
def test_scores_equal_rouge_score_on_any_unicode(candidate: str, reference: str) -> None:
    assert_equal(candidate, [reference])


@pytest.mark.parametrize("order", [3, 9])
def test_longer_ngrams_are_scored_too(order: int) -> None:
    name = f"rouge{order}"
    candidate, reference = prose(3, 60), prose(3, 80)
    found = rouge(candidate, [RougeReference.from_text(reference, [name])], [name])[name]
    assert found == pytest.approx(RougeScorer([name]).score(reference, candidate)[name].fmeasure, abs=1e-9)


@pytest.mark.parametrize(("candidate", "reference"), [("", ""), ("", "a b"), ("a b", ""), ("。", "日本"), ("!", "a")])
def test_texts_without_tokens_score_0(candidate: str, reference: str) -> None:
    assert own(candidate, [reference]) == dict.fromkeys(TYPES, 0.0)


def test_best_reference_counts_for_each_type_apart() -> None:
    assert own("cat", ["cat"]) == {"rouge1": 1.0, "rouge2": 0.0, "rougeL": 1.0}
    scores = own("a b c d", ["d c b a", "a b x y"])
    assert scores == {"rouge1": 1.0, "rouge2": pytest.approx(1 / 3), "rougeL": 0.5}


def test_tokens_are_lower_case_ascii_words() -> None:
    assert tokenize_for_rouge("Don't STOP—naïve_2x, İ") == ["don", "t", "stop", "na", "ve", "2x", "i"]


def test_rouge_types_are_1_to_9_and_l() -> None:
    assert [
        name for name in ("rouge1", "rouge9", "rougeL", "rouge0", "rouge10", "rougeLsum") if is_rouge_type(name)
    ] == ["rouge1", "rouge9", "rougeL"]


def words(count: int, kinds: int) -> str:
    return " ".join(f"{position % kinds:x}" for position in range(count))


def test_too_long_candidate_is_refused_for_rouge_l() -> None:
    reference = RougeReference.from_text(words(490_000, 16), TYPES)
    with pytest.raises(TooManySteps):
        rouge(words(490_000, 16), [reference], TYPES)
    assert rouge(words(490_000, 16), [reference], ["rouge1"]) == {"rouge1": 1.0}


def test_many_references_count_as_long_ones() -> None:
    references = [RougeReference.from_text("1 2", ["rougeL"])] * 10_000
    assert rouge(words(500, 10), references, ["rougeL"])["rougeL"] > 0
    with pytest.raises(TooManySteps):
        rouge(words(7_000, 10), references, ["rougeL"])


def test_a_candidate_that_may_be_cut_is_measured_by_its_first_tokens() -> None:
    reference = RougeReference.from_text("zz " * MAX_REFERENCE_TOKENS, ["rougeL"])
    found = rouge("zz " + "a " * 400_000, [reference], ["rougeL"], truncate=True)["rougeL"]
    assert found == pytest.approx(2 / (60_000_000_000 // 201_000 + 200_000), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("candidate", "reference", "kinds"), [(490_000, 100_000, 400), (250_000, MAX_REFERENCE_TOKENS, 16)]
)
def test_what_must_never_be_refused_takes_seconds(candidate: int, reference: int, kinds: int) -> None:
    prepared = RougeReference.from_text(words(reference, kinds), ["rougeL"])
    started = time.process_time()
    assert rouge(words(candidate, kinds), [prepared], ["rougeL"])["rougeL"] > 0
    assert time.process_time() - started < 30  # about 4 s


NUMBERS = st.lists(st.integers(0, 4), max_size=60)


@given(NUMBERS, NUMBERS, st.sampled_from([1, 2, 7, 8, 16_384]))
def test_subsequence_length_equals_rapidfuzz(left: list[int], right: list[int], block_bits: int) -> None:
    expected = LCSseq.similarity(left, right)
    assert lcs_length_by_big_integers(left, right, block_bits) == expected
    assert lcs_length(list(map(str, left)), list(map(str, right))) == expected


@pytest.mark.parametrize("words", [300, 9_000])
def test_subsequence_of_long_texts_equals_rapidfuzz(words: int) -> None:
    source = random.Random(5)
    left, right = ([f"w{source.randrange(words)}" for _ in range(21_000)] for _ in range(2))
    assert lcs_length(left, right) == LCSseq.similarity(left, right)
