"""The form in which texts are searched and compared: NFKC-normalised, case-folded, without what cannot be seen.

Canonical ordering takes time quadratic in a run of combining characters, so that no more than 30 in a row count
(UAX #15, stream-safe text): no writing has as many. One character can unfold to 18 under NFKC: how long a text may
become is the caller's to say.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping

_NO_LETTER = re.compile(r"\W")
_FURTHEST = 18
"""Characters that one may become under NFKC."""
_PIECE = 50_000
_LONGEST_RUN = 30
"""Combining characters in a row that count; further ones are dropped, in texts and in terms."""
_HIDDEN_MARKS = "\u0f73\u0f75\u0f81\uff9e\uff9f"
"""Characters that are no combining ones themselves, but unfold to nothing else."""
_UNSEEN = {"Cf": "", "Cc": " "}
"""Format characters (soft hyphens, joiners, zero-width blanks) are dropped; control characters are blanks."""
_ASCII = "".join(map(chr, range(128)))
_FEW = 40
"""Characters that are replaced one after the other in less time than `str.translate` takes to look at all."""


class UnfoldsTooFar(ValueError):
    """Normalised, the text is longer than the caller takes."""


def folded(text: str, longest: int | None) -> str:
    """The text normalised. Raises `UnfoldsTooFar` beyond `longest` code points."""
    safe = _stream_safe(text)
    if longest is not None:
        _check_unfolding(safe, longest)
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", safe).casefold())


def _check_unfolding(text: str, longest: int) -> None:
    """In pieces, so that no more than the greatest length is ever unfolded to find out."""
    if text.isascii() or len(text) * _FURTHEST <= longest:
        return
    left = longest
    for start in range(0, len(text), _PIECE):
        left -= len(unicodedata.normalize("NFKC", text[start : start + _PIECE]))
        if left < 0:
            raise UnfoldsTooFar(f"normalised, the text has more than {longest} characters")


def _stream_safe(text: str) -> str:
    """The text without what follows the first 30 of a run of combining characters, in linear time."""
    if text.isascii():
        return text
    marks = [each for each in _NO_LETTER.findall(distinct(text)) if unicodedata.combining(each)]
    marks += [each for each in _HIDDEN_MARKS if each in text]
    if not marks:
        return text
    mark = f"[{''.join(map(re.escape, marks))}]"
    # A set in front, not a repeat: re looks for the first mark quickly.
    return re.sub(f"({mark}{mark}{{{_LONGEST_RUN - 1}}}){mark}+", r"\1", text)


def seen(folded: str) -> str:
    """Without format characters, and with blanks for control characters other than line feeds."""
    return replaced(folded, unseen(no_letters(distinct(folded))))


def unseen(characters: Iterable[str]) -> dict[str, str]:
    """What stands for those of the characters that cannot be seen, line feeds apart."""
    kinds = {each: unicodedata.category(each) for each in characters if each != "\n"}
    return {each: _UNSEEN[kind] for each, kind in kinds.items() if kind in _UNSEEN}


def no_letters(characters: str) -> list[str]:
    """Those of the characters that are no letter, digit or underscore."""
    return _NO_LETTER.findall(characters)


def distinct(text: str) -> str:
    """The characters of a text, each once."""
    return "".join(filter(text.__contains__, _ASCII) if text.isascii() else set(text))


def replaced(text: str, table: Mapping[str, str]) -> str:
    """The text with something else for each of some characters. None of them may be in what stands for another."""
    if len(table) > _FEW:
        return text.translate({ord(character): instead for character, instead in table.items()})
    for character, instead in table.items():
        text = text.replace(character, instead)
    return text


def is_mark(character: str) -> bool:
    """Whether it is a combining character, and so part of the word that it stands in."""
    return unicodedata.category(character)[0] == "M"
