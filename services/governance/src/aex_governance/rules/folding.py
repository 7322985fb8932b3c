"""Texts that look alike, made equal: what is only dressed up differently has the same tokens."""

import re
import unicodedata
from functools import cache

_INVISIBLE_LETTERS = "\u115f\u1160\u3164\uffa0"
"""Fillers that count as letters."""
_DROPPED = {"Mn", "Mc", "Me", "Cf", "Co", "Cn", "Cs"}
"""Marks on letters, format characters, what nobody can see."""
_LOOKALIKES = str.maketrans(
    # Cyrillic, Greek and Armenian letters, after case folding, that are drawn like Latin ones.
    "аеорсухіјѕһԁԛԝвнкмтгпьαβγεηικνορτυχωϲϳսօհոցքզɑɡıɩοσ",
    "aeopcyxijshdqwbhkmtrnbabyenikvoptyxwcjuohnqqqagiioo",
)
_MOST_LONGER = 4
"""Times: a Korean syllable has three letters. There are ligatures of eighteen; nobody writes a text of them."""
_LINE_ENDS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")


def folded(text: str) -> str:
    """NFKD, case folded, without marks and format characters, and lookalikes of Latin letters as these.

    For comparison alone. Marks go before normalisation too: it takes quadratic time over long runs of them.
    """
    lines = _LINE_ENDS.sub("\n", text)
    if lines.isascii():
        return lines.lower()
    plain = unicodedata.normalize("NFKD", _visible(lines))[: _MOST_LONGER * len(lines)]
    return _visible(plain.casefold()).translate(_LOOKALIKES)


def _visible(text: str) -> str:
    dropped = {character for character in set(text) if _is_dropped(character)}
    return text.translate(dict.fromkeys(map(ord, dropped))) if dropped else text


@cache
def _is_dropped(character: str) -> bool:
    return character in _INVISIBLE_LETTERS or unicodedata.category(character) in _DROPPED
