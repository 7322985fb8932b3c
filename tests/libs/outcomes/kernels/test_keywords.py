"""Terms match on word boundaries, in normalised text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_outcomes.kernels.keywords import distinct_terms, presence, standing
from tests.libs.outcomes.kernels.texts import prose


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("The CAT sat.", "cat"),
        ("straße", "STRASSE"),
        ("ﬁne print", "fine"),
        ("ｆｕｌｌ width", "full"),
        ("e\u0301tude", "étude"),
        ("net\n  present\tvalue", "net present value"),
        ("state-of-the-art", "art"),
        ("we use C++, not C", "c++"),
        ("C++11", "C++"),
        ("soft\u00adhyphen", "softhyphen"),
        ("zero\u200bwidth", "zerowidth"),
        ("cat", "cat"),
        ("(cat)", "cat"),
        ("使用Python编程", "Python"),
        ("機械学習は楽しい", "学習"),
        ("コーヒーを飲む", "ヒー"),
        ("ภาษาไทย", "ไทย"),
        ("don't", "don"),
        ("a\x00b", "b"),
        ("naïve café", "CAFÉ"),
    ],
)  # fmt: skip
def test_a_term_is_found(text: str, term: str) -> None:
    assert presence(text, [term]).found == 1


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("concatenate", "cat"),
        ("cats", "cat"),
        ("snake_case", "case"),
        ("cat5", "cat"),
        ("netpresent value", "net present value"),
        ("net, present value", "net present value"),
        ("caf\u0065\u0301s", "café"),
        ("", "cat"),
        ("학교에서", "학교"),
        ("cafe", "café"),
        ("anything", "\u200b"),
    ],
)
def test_a_term_is_not_found(text: str, term: str) -> None:
    assert presence(text, [term]).found == 0


def test_the_share_counts_equal_terms_once() -> None:
    assert presence("red and blue", ["Red", "RED ", "blue", "green"]).share == pytest.approx(2 / 3)


def test_terms_that_always_match_together_are_one() -> None:
    assert len(distinct_terms(["Straße", "STRASSE", "a  b", "a b"])) == 2


@given(st.text(max_size=40), st.text(max_size=10), st.text(max_size=40))
def test_a_term_between_blanks_is_always_found(before: str, term: str, after: str) -> None:
    expected = 1 if distinct_terms([term])[0] else 0
    assert presence(f"{before} {term} {after}", [term]).found == expected


@given(st.text(max_size=60), st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=5))
def test_shares_and_standings_stay_within_bounds(text: str, terms: list[str]) -> None:
    stands = standing(text, terms)
    assert 0 <= presence(text, terms).share <= 1
    assert 0 <= stands.density <= 1
    assert 0 <= stands.list_share <= 1


def test_prose_is_not_a_list() -> None:
    text = "Revenue grew by a tenth this year. The margin, on the other hand, fell slightly because of new stores."
    stands = standing(text, ["revenue", "margin", "dividend"])
    assert stands.found == 2
    assert stands.density == pytest.approx(2 / 19)
    assert stands.list_share == 0


def test_a_list_of_terms_is_seen_as_one() -> None:
    stands = standing("It was a good year for all.\nrevenue, margin, dividend", ["revenue", "margin", "dividend"])
    assert (stands.found, stands.list_share) == (3, 1.0)


def test_a_repeated_sentence_is_no_prose_the_second_time() -> None:
    once = "We looked closely at the revenue of the past year"
    assert standing(f"{once}. {once}.", ["revenue"]).list_share == 0
    assert standing("revenue revenue. revenue revenue.", ["revenue"]).list_share == 1


def test_text_without_words_has_no_density() -> None:
    assert standing("!!! ...", ["cat"]).density == 0


def test_200_terms_in_100000_words_finish_quickly() -> None:
    text = prose(1, 100_000)
    terms = sorted(set(text.replace(",", "").replace(".", "").split()))[:200]
    started = time.perf_counter()
    assert presence(text, terms).share == 1
    assert standing(text, terms).found == 200
    assert time.perf_counter() - started < 30


def test_hostile_repeats_finish_quickly() -> None:
    terms = ["a" * length for length in range(1, 200)]
    started = time.perf_counter()
    assert presence("a" * 1_000_000, terms).found == 0
    assert presence("a " * 500_000, terms).found == 1
    assert standing("a " * 500_000, terms).found == 1
    assert time.perf_counter() - started < 30
