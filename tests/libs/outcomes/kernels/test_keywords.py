"""Terms match on word boundaries, in normalised text."""

import time
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_outcomes.kernels.folding import UnfoldsTooFar
from aex_outcomes.kernels.keywords import distinct_terms, presence, searchable, standing
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


MARKS = "\u0301\u0316"


@pytest.mark.parametrize(
    "hostile",
    [
        "a" + MARKS * 499_999,
        MARKS * 500_000,
        "\u0f75\u0f73" * 500_000,
        "\uff9e\u0301" * 500_000,
        "\u05b0\u094d\u3099\u0327\u0345" * 200_000,
        ("a" + MARKS * 15) * 32_000,
        "\U0001d15e" * 1_000_000,
        "a\n" * 500_000,
        "漢; " * 330_000,
    ],
    ids=lambda text: f"{text[:2]!a}",
)
def test_no_text_within_the_limit_takes_long(hostile: str) -> None:
    started = time.perf_counter()
    assert presence(hostile, ["net present value"]).found == 0
    assert standing(hostile, ["net present value"]).found == 0
    assert time.perf_counter() - started < 25  # about 1 s; runs of marks took minutes where they were sorted whole


def test_30_combining_characters_in_a_row_count_and_further_ones_do_not() -> None:
    stack = "a" + "\u0301" * 30
    assert presence(stack, [stack]).found == 1
    assert presence(stack[:-1], [stack]).found == 0
    assert presence(stack + MARKS * 50, [stack]).found == 1
    assert presence(stack, [stack + MARKS * 50]).found == 1


@given(st.text(alphabet="ab é\u0301\u0316\u0327\uff9e\u0344\u0f73", max_size=30))
def test_within_30_marks_the_text_is_the_normalised_one(text: str) -> None:
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    assert searchable(text) == searchable(plain)


def test_every_character_that_unfolds_to_marks_alone_counts_as_one() -> None:
    everything = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    marks = [each for each in everything if unicodedata.combining(unicodedata.normalize("NFKD", each)[0])]
    assert len(marks) > 900
    for each in marks:
        assert searchable("b" + each * 100) == searchable("b" + each * 30), hex(ord(each))


@pytest.mark.parametrize("measured", [presence, standing])
def test_a_text_may_unfold_to_a_greatest_length(measured: Callable[[str, list[str], int], object]) -> None:
    measured("\ufdfa" * 10, ["a"], 180)
    with pytest.raises(UnfoldsTooFar, match="more than 179 characters"):
        measured("\ufdfa" * 10, ["a"], 179)


def test_sentences_are_told_apart_before_the_text_is_normalised() -> None:
    assert standing("revenue！margin；dividend", ["revenue", "margin"]).list_share == 1
    assert standing("we saw the revenue rise！margin", ["revenue", "margin"]).list_share == 0.5
