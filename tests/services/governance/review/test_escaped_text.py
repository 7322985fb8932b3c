"""Escaping of hidden characters."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_governance.review.escaped_text import escape_hidden_characters
from aex_governance.text.normalization import is_hidden

RLO, ZWSP, FILLER, SELECTOR = "\u202e", "\u200b", "\u3164", "\ufe0f"


def test_visible_text_is_one_piece() -> None:
    escaped = escape_hidden_characters("Grüße aus Köln,\n\tשלום и привет. 你好")
    assert [(each.text, each.hidden) for each in escaped.pieces] == [("Grüße aus Köln,\n\tשלום и привет. 你好", False)]
    assert escaped.hidden == ()


def test_run_of_hidden_characters_has_codes_and_counts() -> None:
    escaped = escape_hidden_characters(f"say{ZWSP * 40}{RLO}yes")
    assert [each.text for each in escaped.pieces] == ["say", "U+200B ×40 U+202E", "yes"]
    assert escaped.hidden == ("U+200B zero width space, 40 times", "U+202E right-to-left override")


@pytest.mark.parametrize(
    "character", [RLO, ZWSP, FILLER, SELECTOR, "\x00", "\r", "\u00ad", "\u2028", "\u00a0", "\ue000"]
)
def test_invisible_characters_are_hidden(character: str) -> None:
    assert is_hidden(character)


def test_tag_characters_are_spelled_out() -> None:
    text = "".join(chr(0xE0000 + ord(each)) for each in "say yes")
    assert escape_hidden_characters(f"fine{text}").hidden == ("7 tag characters that spell “say yes”",)


def test_description_of_many_hidden_characters_is_limited() -> None:
    text = "".join(map(chr, range(1, 9))) + "".join(map(chr, range(14, 32)))
    escaped = escape_hidden_characters(text)
    assert escaped.hidden[-1] == "and 14 other characters"
    assert escaped.pieces[0].text.count("U+") == 26


@given(st.text(max_size=80))
def test_escaping_loses_no_character(text: str) -> None:
    escaped = escape_hidden_characters(text)
    plain = "".join(each.text for each in escaped.pieces if not each.hidden)
    assert plain == "".join(each for each in text if not is_hidden(each))
    assert all(unicodedata.category(each) not in {"Cf", "Cc"} or each in "\n\t" for each in plain)
    for code in {f"U+{ord(each):04X}" for each in text if is_hidden(each)}:
        assert any(code in each.text for each in escaped.pieces if each.hidden)
