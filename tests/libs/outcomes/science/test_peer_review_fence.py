import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_outcomes.science.peer_review_fence import EMPTY, Fence, truncate_middle

NONCE = "a1b2c3d4e5f60718a1b2c3d4e5f60718"
OPENING, CLOSING = f"<<<DATA {NONCE} claims>>>", f"<<<END {NONCE}>>>"
PIECES = [OPENING, CLOSING, NONCE, NONCE.upper(), NONCE[:16], NONCE[16:], "\n", "\r\n", "\u2028", "\x00", "\ud800", "{"]
hostile = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=20))).map("".join)


@given(hostile, st.integers(1, 500))
def test_only_the_fence_itself_carries_the_nonce(text: str, max_chars: int) -> None:
    fenced = Fence(NONCE).enclose("claims", text, max_chars)
    if fenced != EMPTY:
        first, *inside, last = fenced.split("\n")
        assert (first, last) == (OPENING, CLOSING)
        assert NONCE not in "\n".join(inside).lower()


@given(st.lists(hostile), st.integers(8, 500))
def test_each_line_stays_one_line(lines: list[str], max_chars: int) -> None:
    fenced = Fence(NONCE).enclose_lines("claims", lines, max_chars)
    assert len(fenced.splitlines()) <= len(lines) + 3
    assert fenced.lower().count(NONCE) in {0, 2}


@given(hostile, st.integers(1, 300))
def test_fence_is_bounded(text: str, max_chars: int) -> None:
    assert len(Fence(NONCE).enclose("claims", text, max_chars)) <= max_chars + 200
    assert len(Fence(NONCE).enclose_lines("claims", [text] * 50, max_chars)) <= max_chars + 300


def test_what_was_cut_is_marked_with_how_much() -> None:
    visible_text = truncate_middle("a" * 1000 + "b" * 1000, 300)
    assert visible_text.startswith("a" * 200 + "\n[")
    assert visible_text.endswith("]\n" + "b" * 100)
    assert "1,700 characters left out" in visible_text
    assert truncate_middle("short", 300) == "short"


def test_lines_that_do_not_fit_are_counted() -> None:
    fenced = Fence(NONCE).enclose_lines("claims", [f"claim {number}" for number in range(1000)], 100)
    assert "claim 0\n" in fenced
    assert "more left out here" in fenced


def test_what_no_text_needs_is_replaced() -> None:
    fenced = Fence(NONCE).enclose("claims", "a\x00b\u202ec\ud800d\U000e0041e\tf\ng é 漢 😀", 100)
    assert "a\ufffdb\ufffdc\ufffdd\ufffde\tf\ng é 漢 😀" in fenced
    fenced.encode()


@pytest.mark.parametrize("text", ["", " ", "\n\n"])
def test_nothing_needs_no_fence(text: str) -> None:
    assert Fence(NONCE).enclose("claims", text, 100) == EMPTY
    assert Fence(NONCE).enclose_lines("claims", [text] if text else [], 100) == EMPTY


@pytest.mark.parametrize("nonce", ["", "short", "with spaces and more", "ё" * 20, "a-b" * 10])
def test_a_nonce_that_can_be_guessed_or_misread_is_refused(nonce: str) -> None:
    with pytest.raises(ValueError, match="16 letters and digits"):
        Fence(nonce)
