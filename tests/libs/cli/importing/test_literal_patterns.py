import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_cli.importing.checks import NotTranslatable
from aex_cli.importing.literal_patterns import containing, equal_to, quote, quote_ignoring_case
from aex_outcomes.kernels.patterns import compile_pattern
from aex_outcomes.kernels.schemas import compile_schema, serialize_schema

TEXTS = st.text(st.sampled_from("aikKsSſıİI\u0307\u212aéÉßẞäÅå.\\^$|()[]{}*+?-/ \n\t\x00😀Ꭰ\uab70"), max_size=8)
"""Characters whose lower case is unusual, or that patterns give a meaning."""


def found(pattern: str, text: str) -> bool:
    return compile_pattern(pattern).search(text) is not None


@given(term=TEXTS, text=TEXTS)
def test_quoted_term_is_found_where_the_text_contains_it(term: str, text: str) -> None:
    assert found(containing([term]), text) == (term in text)
    assert found(containing([term]), text + term)
    assert found(equal_to(term), text) == (term == text)


@given(term=TEXTS, text=TEXTS)
def test_without_case_the_lower_case_texts_decide(term: str, text: str) -> None:
    assert found(containing([term], ignore_case=True), text) == (term.lower() in text.lower())
    assert found(containing([term], ignore_case=True), text + term.upper()) == (
        term.lower() in (text + term.upper()).lower()
    )


@given(term=TEXTS, text=TEXTS)
def test_schema_patterns_find_the_same_quoted_terms(term: str, text: str) -> None:
    for quoted in (quote(term), quote_ignoring_case(term)):
        validator = compile_schema(serialize_schema({"pattern": quoted}))
        assert validator.is_valid(text) == (re.search(quoted, text) is not None)


def test_any_of_several_terms_is_found() -> None:
    pattern = containing(["a|b", "c."])
    assert [found(pattern, text) for text in ("xa|by", "c.", "a", "cd")] == [True, True, False, False]


def test_an_empty_term_is_in_every_text() -> None:
    assert found(containing(["x", ""]), "")


def test_final_newline_is_not_equal() -> None:
    assert not found(equal_to("yes"), "yes\n")


def test_lower_case_of_sigma_is_not_translated() -> None:
    with pytest.raises(NotTranslatable, match="sigma"):
        quote_ignoring_case("ΟΔΟΣ")
