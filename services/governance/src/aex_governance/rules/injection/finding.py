"""What was found in a text, and how it is shown to an operator."""

import unicodedata
from dataclasses import dataclass

MAX_EXCERPT = 200
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing in a text that speaks to the reviewer."""

    kind: str
    start: int
    """Place in the original text, in code points."""
    end: int


def excerpt(text: str, start: int, end: int) -> str:
    """At most 200 characters around a place, what cannot be seen written as `<U+200B>`."""
    shown: list[str] = []
    length = 0
    for char in text[max(0, start - 20) : min(len(text), end + 60)]:
        sign = _sign(char)
        if length + len(sign) > MAX_EXCERPT:
            break
        shown.append(sign)
        length += len(sign)
    return "".join(shown)


def _sign(char: str) -> str:
    if char in "\n\t\r":
        return " "
    category = unicodedata.category(char)
    # Blank letters (Hangul fillers) and variation selectors are letters and marks by category.
    if (
        category in _INVISIBLE
        or char in "\u115f\u1160\u3164\uffa0\u034f"
        or 0xFE00 <= ord(char) <= 0xFE0F
        or (0xE0100 <= ord(char) <= 0xE01EF)
    ):
        return f"<U+{ord(char):04X}>"
    return char
