"""Display of untrusted text in which hidden characters appear as their codes."""

import unicodedata
from dataclasses import dataclass
from itertools import groupby

from aex_governance.text.normalization import is_hidden

_TAGS = range(0xE0020, 0xE007F)
_MAX_LISTED = 12


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a text. In a hidden part, `text` lists the codes of the hidden characters."""

    text: str
    hidden: bool


@dataclass(frozen=True, slots=True)
class EscapedText:
    """Text split into visible and hidden pieces, with a description of each hidden character."""

    pieces: tuple[Piece, ...]
    hidden: tuple[str, ...] = ()
    """Descriptions such as `U+202E right-to-left override, 3 times`, in order of appearance."""
    length: int = 0
    """Number of characters of the original text."""


def escape_hidden_characters(text: str) -> EscapedText:
    """Return the text in pieces, with each run of hidden characters replaced by their codes."""
    pieces: list[Piece] = []
    found: dict[str, int] = {}
    for hidden, run in groupby(text, key=is_hidden):
        characters = "".join(run)
        pieces.append(Piece(_codes(characters) if hidden else characters, hidden))
        if hidden:
            for each in characters:
                found[each] = found.get(each, 0) + 1
    return EscapedText(tuple(pieces), _descriptions(found) + _tag_text(text), len(text))


def _codes(characters: str) -> str:
    """Return text such as `U+200B U+202E ×40`."""
    runs = [(each, len(list(run))) for each, run in groupby(characters)]
    return " ".join(_code(each) + (f" ×{count}" if count > 1 else "") for each, count in runs)


def _descriptions(found: dict[str, int]) -> tuple[str, ...]:
    counts = {each: count for each, count in found.items() if ord(each) not in _TAGS}
    listed = [
        f"{_code(each)} {_name(each)}" + (f", {count} times" if count > 1 else "")
        for each, count in list(counts.items())[:_MAX_LISTED]
    ]
    more = len(counts) - _MAX_LISTED
    return (*listed, f"and {more} other characters") if more > 0 else tuple(listed)


def _tag_text(text: str) -> tuple[str, ...]:
    # Tag characters are an invisible copy of ASCII.
    letters = "".join(chr(ord(each) - 0xE0000) for each in text if ord(each) in _TAGS)
    return (f"{len(letters)} tag characters that spell “{letters}”",) if letters else ()


def _code(character: str) -> str:
    return f"U+{ord(character):04X}"


def _name(character: str) -> str:
    """Return the character's Unicode name in lower case, or its kind if it has no name."""
    kinds = {"Cc": "control character", "Co": "private character", "Cs": "surrogate"}
    kind = kinds.get(unicodedata.category(character), "unassigned character")
    return unicodedata.name(character, kind).lower()
