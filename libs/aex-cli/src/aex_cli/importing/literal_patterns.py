"""Regular expressions that find a literal text, exactly or without regard to case.

Without regard to case means: the text in lower case contains the term in lower case, as in Python and JavaScript. RE2's
flag `i` differs, because it also lets the long s match an s.
"""

from collections.abc import Sequence
from functools import cache

from aex_cli.importing.checks import NotTranslatable

_SYNTAX = frozenset("\\^$.*+?()[]{}|")
_IN_CLASS = frozenset("\\^-[]")
_SIGMAS = frozenset("σς")
_DOT_ABOVE = "\u0307"
_CAPITAL_I_WITH_DOT = "\u0130"
"""Only character whose lower case is two characters: i and a combining dot above."""


def build_literal_pattern(text: str) -> str:
    """Return a pattern of RE2, and of JSON Schema, that matches exactly this text."""
    return "".join(f"\\{each}" if each in _SYNTAX else each for each in text)


def build_caseless_pattern(text: str) -> str:
    """Return a pattern for texts that contain `text` after both are in lower case.

    Raises `NotTranslatable` for the Greek sigma, whose lower case depends on the letters around it.
    """
    term = text.lower()
    if _SIGMAS.intersection(term):
        raise NotTranslatable("case", "the lower case of the Greek sigma depends on its neighbours: use a regex")
    parts, position = [], 0
    while position < len(term):
        character = term[position]
        if term[position : position + 2] == "i" + _DOT_ABOVE:
            parts.append(f"(?:[iI]{_DOT_ABOVE}|{_CAPITAL_I_WITH_DOT})")
            position += 2
            continue
        spellings = {character, *_capitals().get(character, ())}
        at_start, at_end = position == 0, position == len(term) - 1
        if (character == "i" and at_end) or (character == _DOT_ABOVE and at_start):
            spellings.add(_CAPITAL_I_WITH_DOT)
        parts.append(_write_choice(sorted(spellings)))
        position += 1
    return "".join(parts)


def _write_choice(characters: Sequence[str]) -> str:
    if len(characters) == 1:
        return build_literal_pattern(characters[0])
    return f"[{''.join(f'{chr(92)}{each}' if each in _IN_CLASS else each for each in characters)}]"


@cache
def _capitals() -> dict[str, list[str]]:
    """Return the other characters whose lower case is the key."""
    spellings: dict[str, list[str]] = {}
    for code in range(0x110000):
        character = chr(code)
        lower = character.lower()
        if lower != character and len(lower) == 1:
            spellings.setdefault(lower, []).append(character)
    return spellings


def build_equality_pattern(text: str) -> str:
    """Return a pattern that matches only the complete text."""
    return rf"\A{build_literal_pattern(text)}\z"


def build_terms_pattern(terms: Sequence[str], *, ignore_case: bool = False) -> str:
    """Return a pattern that matches texts with at least one of the terms.

    An empty term is in every text. Raises `NotTranslatable` as `build_caseless_pattern` does.
    """
    if "" in terms:
        return r"\A"
    return "|".join(build_caseless_pattern(each) if ignore_case else build_literal_pattern(each) for each in terms)
