from hypothesis import given
from hypothesis import strategies as st

from aex_outcomes.kernels.keywords import to_searchable_text
from aex_outcomes.kernels.normalization import split_clauses, split_words

TEXTS = st.text() | st.text(alphabet="ab é中पु।\n -,.'_\u200b\u00ad\x00\x85\u2028ﬁ１＿\u0e3f\u0e31\u0301")


def test_lines_and_marks_end_a_clause_and_apostrophes_and_hyphens_do_not() -> None:
    text = "Don't stop, well-known friend:\n- now\n\nपुल बना। 新桥，很好"
    expected = [["don", "t", "stop"], ["well", "known", "friend"], ["now"], ["पुल", "बना"], ["新", "桥"], ["很", "好"]]
    assert split_clauses(text) == expected


@given(TEXTS)
def test_all_clauses_together_are_all_words(text: str) -> None:
    assert [word for clause in split_clauses(text) for word in clause] == split_words(text)


@given(TEXTS)
def test_words_are_the_tokens_that_terms_are_looked_for_in_but_for_single_marks(text: str) -> None:
    tokens = to_searchable_text(text).strip("\x00\x01").split("\x01\x00")
    assert split_words(text) == [each for each in tokens if split_words(each)]


def test_words_do_not_depend_on_number_of_distinct_characters() -> None:
    kinds = [chr(code) for code in (*range(0x21, 0x7F), *range(0x2010, 0x2060), *range(0x4E00, 0x4E80))]
    assert split_words(" ".join(kinds)) == [word for each in kinds for word in split_words(each)]
