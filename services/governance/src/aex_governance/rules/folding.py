"""Texts that look alike, made equal: what is only dressed up differently has the same tokens."""

import re
import unicodedata

_INVISIBLE_LETTERS = "\u115f\u1160\u3164\uffa0"
"""Fillers that count as letters."""
_DROPPED = {"Mn", "Mc", "Me", "Cf", "Co", "Cn", "Cs"}
"""Marks on letters, format characters, what nobody can see."""
_LOOKALIKES = str.maketrans(
    # Cyrillic, Greek, Armenian letters, after case folding, that are drawn like Latin ones; these with a stroke.
    "аеорсухіјѕһԁԛԝвнкмтгпьαβγεηικνορτυχωϲϳսօհոցքզɑɡıɩοσøłđħŧƀ",
    "aeopcyxijshdqwbhkmtrnbabyenikvoptyxwcjuohnqqqagiioooldhtb",
)
_MOST_LONGER = 4
"""Times: a Korean syllable has three letters. There are ligatures of eighteen; nobody writes a text of them."""
_PIECE = 4_096
"""Folded at once: while a whole long text is, no other thread runs. Without its marks a text may be cut anywhere."""
_LINE_ENDS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")


def folded(text: str) -> str:
    """NFKD, case folded, without marks and format characters, and lookalikes of Latin letters as these.

    For comparison alone. Marks go before normalisation too: it takes quadratic time over long runs of them.
    """
    lines = _LINE_ENDS.sub("\n", text)
    if lines.isascii():
        return lines.lower()
    pieces, room = [], _MOST_LONGER * len(lines)
    visible = _visible(lines)
    for start in range(0, len(visible), _PIECE):
        piece = unicodedata.normalize("NFKD", visible[start : start + _PIECE])[:room]
        room -= len(piece)
        pieces.append(_visible(piece.casefold()).translate(_LOOKALIKES))
    return "".join(pieces)


def _visible(text: str) -> str:
    dropped = {character for character in set(text) if _is_dropped(character)}
    return text.translate(dict.fromkeys(map(ord, dropped))) if dropped else text


def _is_dropped(character: str) -> bool:
    return character in _INVISIBLE_LETTERS or unicodedata.category(character) in _DROPPED
