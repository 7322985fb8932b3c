import time
import unicodedata
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_outcomes.kernels.keywords import (
    compute_term_share,
    keyword_layout,
    normalize_distinct_terms,
    to_searchable_text,
)
from aex_outcomes.kernels.normalization import NormalizedTooLong


def share(text: str, terms: Sequence[str], allowed_length: int | None = None) -> float:
    return compute_term_share(to_searchable_text(text, allowed_length), terms)


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("The CAT sat.", "cat"),
        ("straße", "STRASSE"),
        ("ﬁne print", "fine"),
        ("ｆｕｌｌ width", "full"),
        ("e\u0301tude", "étude"),
        ("state-of-the-art", "art"),
        ("we use C++, not C", "c++"),
        ("soft\u00adhyphen", "softhyphen"),
        ("使用Python编程", "Python"),
        ("機械学習は楽しい", "学習"),
        ("ภาษาไทย", "ไทย"),
        ("don't", "don"),
        ("net\n present\tvalue", "net present value"),
        ("a\x00b", "b"),
    ],
)  # fmt: skip
def test_a_term_is_found(text: str, term: str) -> None:
    assert share(text, [term]) == 1


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("concatenate", "cat"),
        ("snake_case", "case"),
        ("netpresent value", "net present value"),
        ("net, present value", "net present value"),
        ("학교에서", "학교"),
        ("cafe", "café"),
        ("anything", "\u200b"),
    ],
)
def test_a_term_is_not_found(text: str, term: str) -> None:
    assert share(text, [term]) == 0


def test_equal_terms_count_once() -> None:
    assert share("red and blue", ["Red", "RED ", "blue", "green"]) == pytest.approx(2 / 3)
    assert len(normalize_distinct_terms(["Straße", "STRASSE", "a  b", "a b"])) == 2


@given(st.text(max_size=40), st.text(max_size=10), st.text(max_size=40))
def test_a_term_between_blanks_is_always_found(before: str, term: str, after: str) -> None:
    expected = 1 if normalize_distinct_terms([term])[0] else 0
    assert share(f"{before} {term} {after}", [term]) == expected


@given(st.text(max_size=60), st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=5))
def test_shares_and_layout_stay_within_bounds(text: str, terms: list[str]) -> None:
    stands = keyword_layout(text, terms)
    assert 0 <= share(text, terms) <= 1
    assert 0 <= stands.density <= 1
    assert 0 <= stands.list_share <= 1


def test_layout_distinguishes_prose_from_lists_and_repeats() -> None:
    terms = ["revenue", "margin", "dividend"]
    text = "Revenue grew by a tenth this year. The margin, on the other hand, fell slightly because of new stores."
    prose = keyword_layout(text, terms)
    assert (prose.found, prose.list_share) == (2, 0)
    assert prose.density == pytest.approx(2 / 19)
    listed = keyword_layout("It was a good year for all.\nrevenue, margin, dividend", terms)
    assert (listed.found, listed.list_share) == (3, 1.0)
    once = "We looked closely at the revenue of the past year"
    assert keyword_layout(f"{once}. {once}.", ["revenue"]).list_share == 0
    assert keyword_layout("revenue revenue. revenue revenue.", ["revenue"]).list_share == 1
    assert keyword_layout("!!! ...", ["cat"]).density == 0


def test_hostile_repeats_finish_quickly() -> None:
    terms = ["a" * length for length in range(1, 200)]
    started = time.process_time()
    assert share("a" * 200_000, terms) == 0
    assert share("a " * 100_000, terms) == 1 / 199
    assert keyword_layout("a " * 100_000, terms).found == 1
    assert time.process_time() - started < 10


MARKS = "\u0301\u0316"


@pytest.mark.parametrize(
    "hostile",
    [
        "a" + MARKS * 99_999,
        "\u0f75\u0f73" * 100_000,
        "\uff9e\u0301" * 100_000,
        ("a" + MARKS * 15) * 6_000,
        "\U0001d15e" * 200_000,
        "a\n" * 100_000,
        "漢; " * 66_000,
    ],
    ids=lambda text: f"{text[:2]!a}",
)
def test_no_text_within_the_limit_takes_long(hostile: str) -> None:
    started = time.process_time()
    assert share(hostile, ["net present value"]) == 0
    assert keyword_layout(hostile, ["net present value"]).found == 0
    assert time.process_time() - started < 5  # about 0.2 s; runs of marks took minutes where they were sorted whole


def test_30_combining_characters_in_a_row_count_and_further_ones_do_not() -> None:
    stack = "a" + "\u0301" * 30
    assert share(stack, [stack]) == 1
    assert share(stack[:-1], [stack]) == 0
    assert share(stack + MARKS * 50, [stack]) == 1
    assert share(stack, [stack + MARKS * 50]) == 1


@given(st.text(alphabet="ab é\u0301\u0316\u0327\uff9e\u0344\u0f73", max_size=30))
def test_within_30_marks_the_text_is_the_normalised_one(text: str) -> None:
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    assert to_searchable_text(text) == to_searchable_text(plain)


def test_every_character_that_unfolds_to_marks_alone_counts_as_one() -> None:
    everything = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    marks = [each for each in everything if unicodedata.combining(unicodedata.normalize("NFKD", each)[0])]
    assert len(marks) > 900
    for each in marks:
        assert to_searchable_text("b" + each * 100) == to_searchable_text("b" + each * 30), hex(ord(each))


@pytest.mark.parametrize("measured", [share, keyword_layout])
def test_a_text_may_unfold_to_a_greatest_length(measured: Callable[[str, list[str], int], object]) -> None:
    measured("\ufdfa" * 10, ["a"], 180)
    with pytest.raises(NormalizedTooLong, match="more than 179 characters"):
        measured("\ufdfa" * 10, ["a"], 179)


def test_sentences_are_split_before_normalisation() -> None:
    assert keyword_layout("we saw the revenue rise！margin", ["revenue", "margin"]).list_share == 0.5
