"""Detection of characters that machines read and readers do not see.

These uses are honest and not reported:
- joiners and direction marks in scripts that need them;
- a joiner between German letters (f‌l), emoji sequences and flags;
- closed isolates and embeddings in text with right-to-left letters;
- byte order marks, soft hyphens and invisible operators of mathematics;
- single private-use characters (icons).
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

import re2

from aex_governance.rules.injection.plain_text import InjectionSpan

_RIGHT_TO_LEFT = r"[\x{0590}-\x{08FF}\x{FB1D}-\x{FDFF}\x{FE70}-\x{FEFC}\x{10800}-\x{10FFF}\x{1E800}-\x{1EFFF}]"
_INVISIBLE = (
    r"\x{200B}-\x{200F}\x{2060}-\x{2065}\x{206A}-\x{206F}\x{FEFF}\x{180E}\x{034F}"
    r"\x{061C}\x{115F}\x{1160}\x{3164}\x{FFA0}\x{FFF9}-\x{FFFB}\x{1D173}-\x{1D17A}"
)
_CASED = r"[\p{Latin}\p{Greek}\p{Cyrillic}\p{Armenian}\p{Georgian}]"
_JOINERS = r"\x{200B}-\x{200F}\x{2060}\x{FEFF}\x{180E}\x{034F}\x{115F}\x{1160}\x{3164}\x{FFA0}\x{206A}-\x{206F}"
_ZERO_WIDTH = rf"{_CASED}[{_JOINERS}]+{_CASED}"
_SELECTORS = r"(?s:.)[\x{FE00}-\x{FE0F}\x{E0100}-\x{E01EF}]+"
_RUNS = {
    "bidi_override": r"[\x{202D}\x{202E}]",
    "invisible_run": rf"[{_INVISIBLE}\x{{FE00}}-\x{{FE0E}}\x{{E0100}}-\x{{E01EF}}]{{4,}}",
    "tag_characters": r"\x{1F3F4}?[\x{E0000}-\x{E007F}]+",
    "private_use": r"[\x{E000}-\x{F8FF}\x{F0000}-\x{FFFFD}\x{100000}-\x{10FFFD}]{2,}",
}
_CONTROL = re.compile("[\u202a\u202b\u202c\u2066-\u2069]")
_OVERRIDE = re.compile("[\u202d\u202e]")
_LIGATURE = re.compile("[fF]\u200c[fijltbhkFIJLTBHK]")
"""Zero-width non-joiner that keeps two German letters from forming a ligature."""
_FLAGS = {
    f"\U0001f3f4{''.join(chr(0xE0000 + ord(letter)) for letter in code)}\U000e007f"
    for code in ("gbeng", "gbsct", "gbwls")
}
_CLOSING = {"\u202c": "\u202a\u202b", "\u2069": "\u2066\u2067\u2068"}


def find_hidden_characters(text: str, thresholds: Mapping[str, Any]) -> Iterator[InjectionSpan]:
    """Yield each suspicious run of hidden characters in a text, kind by kind.

    The text is as the agent wrote it, not normalised.
    """
    if text.isascii():
        return
    yield from _controls(text)
    joined = re2.compile(_ZERO_WIDTH).finditer(text)
    between = [found.span() for found in joined if not _LIGATURE.fullmatch(found.group())]
    if len(between) >= thresholds["min_zero_width"]:
        yield from (InjectionSpan("zero_width", *span) for span in between)
    stray = [found.span() for found in re2.compile(_SELECTORS).finditer(text) if _is_stray(found.group())]
    if len(stray) >= thresholds["min_stray_selectors"] or any(end - start > 2 for start, end in stray):
        yield from (InjectionSpan("variation_selectors", *span) for span in stray)
    shortest = {"private_use": thresholds["min_private_run"]}
    for kind, pattern in _RUNS.items():
        for found in re2.compile(pattern).finditer(text):
            if len(found.group()) >= shortest.get(kind, 1) and found.group() not in _FLAGS:
                yield InjectionSpan(kind, *found.span())


def _controls(text: str) -> Iterator[InjectionSpan]:
    """Yield embeddings and isolates that are not closed, or in text without right-to-left letters."""
    mixed = bool(re2.compile(_RIGHT_TO_LEFT).search(text))
    stack: list[tuple[str, int, int]] = []
    for found in _CONTROL.finditer(text):
        sign, (start, end) = found.group(), found.span()
        if not mixed:
            yield InjectionSpan("bidi_control", start, end)
        elif sign not in _CLOSING:
            stack.append((sign, start, end))
        elif stack and stack[-1][0] in _CLOSING[sign]:
            stack.pop()
        elif not _OVERRIDE.search(text, max(0, start - 200), start):
            yield InjectionSpan("bidi_control", start, end)
    yield from (InjectionSpan("bidi_control", start, end) for _, start, end in stack)


def _is_stray(found: str) -> bool:
    """Return whether variation selectors are repeated, or follow a character that has no variants."""
    base, selectors = found[0], found[1:]
    if len(selectors) > 1:
        return True
    if ord(selectors) >= 0xE0100 or ord(selectors) <= 0xFE0D:
        category = unicodedata.category(base)
        return not (category in {"Lo", "Sm", "So", "Nd", "Po"} and not base.isascii())
    return unicodedata.category(base)[0] in "LZC" and unicodedata.category(base) != "Lo" and base != "ℹ"
