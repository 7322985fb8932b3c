import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_cli.importing.checks import NotTranslatable
from aex_cli.importing.literal_patterns import (
    build_caseless_pattern,
    build_equality_pattern,
    build_literal_pattern,
    build_terms_pattern,
)
from aex_outcomes.kernels.patterns import compile_pattern
from aex_outcomes.kernels.schemas import compile_schema, serialize_schema

TEXTS = st.text(st.sampled_from("aikKsSſıİI\u0307\u212aéÉßẞäÅå.\\^$|()[]{}*+?-/ \n\t\x00😀Ꭰ\uab70"), max_size=8)
"""Characters whose lower case is unusual, or that patterns give a meaning."""


def found(pattern: str, text: str) -> bool:
    return compile_pattern(pattern).search(text) is not None


@given(term=TEXTS, text=TEXTS)
def test_quoted_term_is_found_where_the_text_contains_it(term: str, text: str) -> None:
    assert found(build_terms_pattern([term]), text) == (term in text)
    assert found(build_terms_pattern([term]), text + term)
    assert found(build_equality_pattern(term), text) == (term == text)


@given(term=TEXTS, text=TEXTS)
def test_without_case_the_lower_case_texts_decide(term: str, text: str) -> None:
    assert found(build_terms_pattern([term], ignore_case=True), text) == (term.lower() in text.lower())
    assert found(build_terms_pattern([term], ignore_case=True), text + term.upper()) == (
        term.lower() in (text + term.upper()).lower()
    )


@given(term=TEXTS, text=TEXTS)
def test_schema_patterns_find_the_same_quoted_terms(term: str, text: str) -> None:
    for quoted in (build_literal_pattern(term), build_caseless_pattern(term)):
        validator = compile_schema(serialize_schema({"pattern": quoted}))
        assert validator.is_valid(text) == (re.search(quoted, text) is not None)


def test_any_of_several_terms_is_found() -> None:
    pattern = build_terms_pattern(["a|b", "c."])
    assert [found(pattern, text) for text in ("xa|by", "c.", "a", "cd")] == [True, True, False, False]


def test_an_empty_term_is_in_every_text() -> None:
    assert found(build_terms_pattern(["x", ""]), "")


def test_final_newline_is_not_equal() -> None:
    assert not found(build_equality_pattern("yes"), "yes\n")


def test_lower_case_of_sigma_is_not_translated() -> None:
    with pytest.raises(NotTranslatable, match="sigma"):
        build_caseless_pattern("ΟΔΟΣ")
