"""Normal forms of text for comparison; recognition of hidden characters and of scripts without spaces."""

import re
import unicodedata

UNSPACED = (
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua9e0-\ua9ff\uaa60-\uaa7f\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Scripts without spaces (Thai to Tibetan, Myanmar, Khmer, kana, Han), for use in a regular expression's brackets."""
_VISIBLE_BLANKS = frozenset("\n\t ")
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_HIDDEN_RANGES = (
    *((0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2800, 0x2800), (0x3164, 0x3164)),
    *((0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xE0100, 0xE01EF)),
)
"""Code points without a glyph: Unicode's Default_Ignorable_Code_Point, and blank Braille."""
_FILLERS = "\u115f\u1160\u3164\uffa0"
"""Invisible fillers that Unicode classifies as letters."""
_DROPPED_CATEGORIES = {"Mn", "Mc", "Me", "Cf", "Co", "Cn", "Cs"}
_LOOKALIKES = str.maketrans(
    # Cyrillic, Greek and Armenian letters, case folded, that look like Latin ones; Latin letters with a stroke.
    "аеорсухіјѕһԁԛԝвнкмтгпьαβγεηικνορτυχωϲϳսօհոցքզɑɡıɩοσøłđħŧƀ",
    "aeopcyxijshdqwbhkmtrnbabyenikvoptyxwcjuohnqqqagiioooldhtb",
)
_MAX_GROWTH = 4
"""Factor by which normalisation may lengthen a text; a Korean syllable has three letters, a rare ligature eighteen."""
_CHUNK = 4_096
"""Characters normalised per call, because a call holds the interpreter lock."""
_LINE_ENDS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")


def is_hidden(character: str) -> bool:
    """Return whether a character has no glyph, or changes the display of others.

    Line feed, tab and space are not hidden.
    """
    if character in _VISIBLE_BLANKS:
        return False
    code = ord(character)
    if unicodedata.category(character) in _HIDDEN_CATEGORIES:
        return True
    return any(first <= code <= last for first, last in _HIDDEN_RANGES)


def confusable_skeleton(text: str) -> str:
    """Return the text for comparison: NFKD, case-folded, without marks, look-alikes as Latin letters.

    Every line end becomes a line feed. Marks are also removed before NFKD, which is quadratic in long runs of them.
    """
    lines = _LINE_ENDS.sub("\n", text)
    if lines.isascii():
        return lines.lower()
    pieces, budget = [], _MAX_GROWTH * len(lines)
    visible = _drop_marks(lines)
    for start in range(0, len(visible), _CHUNK):
        piece = unicodedata.normalize("NFKD", visible[start : start + _CHUNK])[:budget]
        budget -= len(piece)
        pieces.append(_drop_marks(piece.casefold()).translate(_LOOKALIKES))
    return "".join(pieces)


def _drop_marks(text: str) -> str:
    dropped = [each for each in set(text) if each in _FILLERS or unicodedata.category(each) in _DROPPED_CATEGORIES]
    return text.translate(dict.fromkeys(map(ord, dropped))) if dropped else text
