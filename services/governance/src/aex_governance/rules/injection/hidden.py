"""Characters that a reader does not see and a machine does.

Honest and left alone: joiners inside Arabic, Persian, Indic scripts and emoji, a joiner that keeps German letters from
melting (f‌l), breaks of Thai, Khmer, Lao, Burmese, Tibetan, Chinese and Japanese, a byte order mark where a line begins,
soft hyphens, isolates and embeddings that are closed again in a text with right-to-left letters, the flags of England,
Scotland and Wales, variation selectors after what has variants, invisible operators of mathematics, lone private-use
signs (bullets and icons).
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import re2

_RIGHT_TO_LEFT = r"[\x{0590}-\x{08FF}\x{FB1D}-\x{FDFF}\x{FE70}-\x{FEFC}\x{10800}-\x{10FFF}\x{1E800}-\x{1EFFF}]"
_UNSEEN = (
    r"\x{200B}-\x{200F}\x{2060}-\x{2065}\x{206A}-\x{206F}\x{FEFF}\x{180E}\x{034F}"
    r"\x{061C}\x{115F}\x{1160}\x{3164}\x{FFA0}\x{FFF9}-\x{FFFB}\x{1D173}-\x{1D17A}"
)
_CASED = r"[\p{Latin}\p{Greek}\p{Cyrillic}\p{Armenian}\p{Georgian}]"
_BETWEEN = r"\x{200B}-\x{200F}\x{2060}\x{FEFF}\x{180E}\x{034F}\x{115F}\x{1160}\x{3164}\x{FFA0}\x{206A}-\x{206F}"
_PATTERNS = {
    "bidi_override": r"[\x{202D}\x{202E}]",
    "zero_width": rf"{_CASED}[{_BETWEEN}]+{_CASED}",
    "invisible_run": rf"[{_UNSEEN}\x{{FE00}}-\x{{FE0E}}\x{{E0100}}-\x{{E01EF}}]{{4,}}",
    "tag_characters": r"\x{1F3F4}?[\x{E0000}-\x{E007F}]+",
    "variation_selectors": r"(?s:.)[\x{FE00}-\x{FE0F}\x{E0100}-\x{E01EF}]+",
    "private_use": r"[\x{E000}-\x{F8FF}\x{F0000}-\x{FFFFD}\x{100000}-\x{10FFFD}]{2,}",
}
_CONTROL = re.compile("[\u202a\u202b\u202c\u2066-\u2069]")
_FLAGS = frozenset({"gbeng", "gbsct", "gbwls"})
_CLOSING = {"\u202c": "\u202a\u202b", "\u2069": "\u2066\u2067\u2068"}


@dataclass(frozen=True, slots=True)
class Limits:
    """How much an operator lets pass."""

    zero_width: int
    selectors: int
    private_run: int


def hidden_characters(text: str, limits: Limits) -> Iterator[tuple[str, int, int]]:
    """Kind and place of what is hidden in an original text. One pass for each kind."""
    if text.isascii():
        return
    yield from _controls(text)
    for found in _pattern("bidi_override").finditer(text):
        yield "bidi_override", *found.span()
    between = [found.span() for found in _pattern("zero_width").finditer(text) if not _keeps_apart(found.group())]
    if len(between) >= limits.zero_width:
        yield from (("zero_width", *span) for span in between)
    for found in _pattern("invisible_run").finditer(text):
        yield "invisible_run", *found.span()
    for found in _pattern("tag_characters").finditer(text):
        if not _is_flag(found.group()):
            yield "tag_characters", *found.span()
    stray = [found.span() for found in _pattern("variation_selectors").finditer(text) if _is_stray(found.group())]
    if len(stray) >= limits.selectors or any(end - start > 2 for start, end in stray):
        yield from (("variation_selectors", *span) for span in stray)
    for found in _pattern("private_use").finditer(text):
        if found.end() - found.start() >= limits.private_run:
            yield "private_use", *found.span()


def _controls(text: str) -> Iterator[tuple[str, int, int]]:
    """Embeddings and isolates left open, closed without being open, or in a text that reads in one direction alone."""
    mixed = bool(_right_to_left().search(text))
    stack: list[tuple[str, int, int]] = []
    for found in _CONTROL.finditer(text):
        sign, (start, end) = found.group(), found.span()
        if not mixed:
            yield "bidi_control", start, end
        elif sign not in _CLOSING:
            stack.append((sign, start, end))
        elif stack and stack[-1][0] in _CLOSING[sign]:
            stack.pop()
        elif not _closes_override(text, start):
            yield "bidi_control", start, end
    yield from (("bidi_control", start, end) for _, start, end in stack)


def _closes_override(text: str, place: int) -> bool:
    return (
        text.rfind("\u202d", max(0, place - 200), place) >= 0 or text.rfind("\u202e", max(0, place - 200), place) >= 0
    )


def _keeps_apart(found: str) -> bool:
    """A joiner or mark that typesetting knows: f‌l in German; marks of direction beside right-to-left letters are not
    between cased letters anyway."""
    return found[1:-1] == "\u200c" and found[0] in "fF" and found[-1] in "fijltbhkFIJLTBHK"


def _is_flag(found: str) -> bool:
    if found[0] != "\U0001f3f4" or found[-1] != "\U000e007f":
        return False
    return "".join(chr(ord(char) - 0xE0000) for char in found[1:-1]) in _FLAGS


def _is_stray(found: str) -> bool:
    """Selectors in a row, or after what has no variants."""
    base, selectors = found[0], found[1:]
    if len(selectors) > 1:
        return True
    if ord(selectors) >= 0xE0100 or ord(selectors) <= 0xFE0D:
        category = unicodedata.category(base)
        return not (category in {"Lo", "Sm", "So", "Nd", "Po"} and not base.isascii())
    return unicodedata.category(base)[0] in "LZC" and unicodedata.category(base) != "Lo" and base != "ℹ"


@cache
def _pattern(kind: str) -> Any:
    return re2.compile(_PATTERNS[kind])


@cache
def _right_to_left() -> Any:
    return re2.compile(_RIGHT_TO_LEFT)
