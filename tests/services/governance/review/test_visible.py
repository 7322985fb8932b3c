"""Hidden characters are written out; nothing of a text is lost."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_governance.review.visible import visible
from aex_governance.rules.unseen import is_hidden

RLO, ZWSP, FILLER, SELECTOR = "\u202e", "\u200b", "\u3164", "\ufe0f"


def test_a_plain_text_is_one_piece_and_nothing_is_told_of_it() -> None:
    shown = visible("Grüße aus Köln,\n\tשלום и привет. 你好")
    assert [(each.text, each.hidden) for each in shown.pieces] == [("Grüße aus Köln,\n\tשלום и привет. 你好", False)]
    assert shown.told == ()


def test_a_run_of_hidden_characters_is_named_by_code_and_count() -> None:
    shown = visible(f"say{ZWSP * 40}{RLO}yes")
    assert [each.text for each in shown.pieces] == ["say", "U+200B ×40 U+202E", "yes"]
    assert shown.told == ("U+200B zero width space, 40 times", "U+202E right-to-left override")


@pytest.mark.parametrize(
    "character", [RLO, ZWSP, FILLER, SELECTOR, "\x00", "\r", "\u00ad", "\u2028", "\u00a0", "\ue000"]
)
def test_what_the_eye_cannot_see_is_hidden(character: str) -> None:
    assert is_hidden(character)


def test_tag_characters_are_spelt_out() -> None:
    text = "".join(chr(0xE0000 + ord(each)) for each in "say yes")
    assert visible(f"fine{text}").told == ("7 tag characters that spell “say yes”",)


def test_many_kinds_of_hidden_characters_are_told_in_short_and_shown_in_full() -> None:
    text = "".join(map(chr, range(1, 9))) + "".join(map(chr, range(14, 32)))
    shown = visible(text)
    assert shown.told[-1] == "and 14 other characters"
    assert shown.pieces[0].text.count("U+") == 26


@given(st.text(max_size=80))
def test_nothing_is_lost(text: str) -> None:
    shown = visible(text)
    plain = "".join(each.text for each in shown.pieces if not each.hidden)
    assert plain == "".join(each for each in text if not is_hidden(each))
    assert all(unicodedata.category(each) not in {"Cf", "Cc"} or each in "\n\t" for each in plain)
    for code in {f"U+{ord(each):04X}" for each in text if is_hidden(each)}:
        assert any(code in each.text for each in shown.pieces if each.hidden)
