"""Texts that strangers wrote, so that what the eye cannot see is seen: hidden characters by their code. Pure."""

import unicodedata
from dataclasses import dataclass
from itertools import groupby

from aex_governance.rules.unseen import is_hidden

_TAGS = range(0xE0020, 0xE007F)
_MAX_NAMED = 12


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text. Of a hidden one the text names the characters instead of holding them."""

    text: str
    hidden: bool


@dataclass(frozen=True, slots=True)
class Visible:
    """A text in pieces, and in words what is hidden in it. Nothing of the text is lost."""

    pieces: tuple[Piece, ...]
    told: tuple[str, ...] = ()
    """Such as `U+202E right-to-left override, 3 times`, the first met first."""
    length: int = 0
    """Characters of the text itself."""


def visible(text: str) -> Visible:
    """The text with each run of hidden characters written out."""
    pieces: list[Piece] = []
    found: dict[str, int] = {}
    for hidden, run in groupby(text, key=is_hidden):
        characters = "".join(run)
        pieces.append(Piece(_codes(characters) if hidden else characters, hidden))
        if hidden:
            for each in characters:
                found[each] = found.get(each, 0) + 1
    return Visible(tuple(pieces), _told(found) + _spelt(text), len(text))


def _codes(characters: str) -> str:
    """Such as `U+200B U+202E ×40`."""
    runs = [(each, len(list(run))) for each, run in groupby(characters)]
    return " ".join(_code(each) + (f" ×{count}" if count > 1 else "") for each, count in runs)


def _told(found: dict[str, int]) -> tuple[str, ...]:
    named = {each: count for each, count in found.items() if ord(each) not in _TAGS}
    told = [
        f"{_code(each)} {_name(each)}" + (f", {count} times" if count > 1 else "")
        for each, count in list(named.items())[:_MAX_NAMED]
    ]
    more = len(named) - _MAX_NAMED
    return (*told, f"and {more} other characters") if more > 0 else tuple(told)


def _spelt(text: str) -> tuple[str, ...]:
    """Tag characters are a second alphabet that nobody sees: what they spell, as ordinary letters."""
    letters = "".join(chr(ord(each) - 0xE0000) for each in text if ord(each) in _TAGS)
    return (f"{len(letters)} tag characters that spell “{letters}”",) if letters else ()


def _code(character: str) -> str:
    return f"U+{ord(character):04X}"


def _name(character: str) -> str:
    """Unicode's name in small letters; control characters and unassigned ones have none."""
    kinds = {"Cc": "control character", "Co": "private character", "Cs": "surrogate"}
    kind = kinds.get(unicodedata.category(character), "unassigned character")
    return unicodedata.name(character, kind).lower()
