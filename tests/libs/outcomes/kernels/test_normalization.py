from hypothesis import given
from hypothesis import strategies as st

from aex_outcomes.kernels.keywords import searchable_text
from aex_outcomes.kernels.normalization import clauses_of, words_of

TEXTS = st.text() | st.text(alphabet="ab é中पु।\n -,.'_\u200b\u00ad\x00\x85\u2028ﬁ１＿\u0e3f\u0e31\u0301")


def test_lines_and_marks_end_a_clause_and_apostrophes_and_hyphens_do_not() -> None:
    text = "Don't stop, well-known friend:\n- now\n\nपुल बना। 新桥，很好"
    expected = [["don", "t", "stop"], ["well", "known", "friend"], ["now"], ["पुल", "बना"], ["新", "桥"], ["很", "好"]]
    assert clauses_of(text) == expected


@given(TEXTS)
def test_all_clauses_together_are_all_words(text: str) -> None:
    assert [word for clause in clauses_of(text) for word in clause] == words_of(text)


@given(TEXTS)
def test_words_are_the_tokens_that_terms_are_looked_for_in_but_for_single_marks(text: str) -> None:
    tokens = searchable_text(text).strip("\x00\x01").split("\x01\x00")
    assert words_of(text) == [each for each in tokens if words_of(each)]


def test_words_do_not_depend_on_number_of_distinct_characters() -> None:
    kinds = [chr(code) for code in (*range(0x21, 0x7F), *range(0x2010, 0x2060), *range(0x4E00, 0x4E80))]
    assert words_of(" ".join(kinds)) == [word for each in kinds for word in words_of(each)]
