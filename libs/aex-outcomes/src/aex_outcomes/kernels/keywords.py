"""Required terms in a text: which of them are there, and how they stand there.

Texts are compared NFKC-normalised and case-folded, with invisible format characters dropped and runs of white
space as one. A term matches on word boundaries; in scripts that write no spaces every character is a word of its
own, so that a term matches anywhere. Both texts are cut into the same tokens, and a term is there where its tokens
follow each other: one linear search for each term.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

_UNSPACED = (
    (0x0E00, 0x0FFF),  # Thai, Lao, Tibetan
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19FF),  # Tai Le, New Tai Lue, Khmer symbols
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x1B00, 0x1B7F),  # Balinese
    (0x2E80, 0x2FDF),  # CJK and Kangxi radicals
    (0x3005, 0x3007),  # iteration mark, closing mark, ideographic zero
    (0x3021, 0x3029),
    (0x3031, 0x3035),
    (0x3038, 0x303C),
    (0x3041, 0x312F),  # Hiragana, Katakana, Bopomofo
    (0x31A0, 0x31FF),
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xA980, 0xA9FF),  # Javanese, Myanmar
    (0xAA60, 0xAADF),  # Myanmar, Tai Viet
    (0xF900, 0xFAFF),
    (0x1AFF0, 0x1B16F),  # Kana extensions
    (0x20000, 0x323AF),  # Han extensions
)
_FIRST = [first for first, _ in _UNSPACED]
_OPEN, _CLOSE = "\x00", "\x01"
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|[\n\r。！？；]+")
_SCANNED = 1_000
"""Occurrences of one term that are looked at one by one: enough for a share, and bounded for hostile texts."""


@dataclass(frozen=True, slots=True)
class Presence:
    """Of how many terms how many were found."""

    found: int
    terms: int

    @property
    def share(self) -> float:
        """Found terms over all terms, in [0, 1]."""
        return self.found / self.terms


@dataclass(frozen=True, slots=True)
class Standing:
    """How terms stand in a text: spec file 5's `keyword_stats`."""

    found: int
    density: float
    """Share of the text's words that belong to a required term."""
    list_share: float
    """Share of the found terms that stand in lists or repeats alone, never in prose."""


def presence(text: str, terms: Sequence[str]) -> Presence:
    """How many of the terms the text has. Terms that are equal once normalised count as one."""
    needles = _needles(terms)
    haystack = _marked(_tokens(text))
    return Presence(sum(needle in haystack for needle in needles), len(needles))


def distinct_terms(terms: Sequence[str]) -> tuple[str, ...]:
    """The terms in their normalised form, each once: equal ones always match together."""
    return tuple(dict.fromkeys(" ".join(_tokens(term)) for term in terms))


def standing(text: str, terms: Sequence[str]) -> Standing:
    """How the terms stand in the text.

    A segment (sentence or line) is a list where at least half of its words belong to terms, and a repeat where
    the same segment came before.
    """
    segments = [tokens for part in _SENTENCE_END.split(text) if (tokens := _tokens(part))]
    words = [sum(_is_word(token) for token in tokens) for tokens in segments]
    if not sum(words):
        return Standing(0, 0.0, 0.0)
    marked = [_marked(tokens) + "\x02" for tokens in segments]
    ends = _ends(marked)
    haystack = "".join(marked)
    covered = [0] * len(segments)
    places: list[set[int]] = []
    in_terms = 0
    for needle in _needles(terms):
        size = sum(_is_word(token) for token in needle.strip(_OPEN + _CLOSE).split(_CLOSE + _OPEN))
        in_terms += haystack.count(needle) * size
        hits = [bisect_right(ends, position) for position in _positions(haystack, needle)]
        for segment in hits:
            covered[segment] += size
        if hits:
            places.append(set(hits))
    unlike_prose = _unlike_prose(marked, covered, words)
    in_lists = sum(all(unlike_prose[segment] for segment in spots) for spots in places)
    return Standing(
        found=len(places),
        density=min(in_terms / sum(words), 1.0),
        list_share=in_lists / len(places) if places else 0.0,
    )


def _unlike_prose(segments: Sequence[str], covered: Sequence[int], words: Sequence[int]) -> list[bool]:
    seen: set[str] = set()
    verdicts = []
    for segment, inside, size in zip(segments, covered, words, strict=True):
        verdicts.append(segment in seen or 2 * inside >= max(size, 1))
        seen.add(segment)
    return verdicts


def _ends(parts: Sequence[str]) -> list[int]:
    ends, position = [], 0
    for part in parts:
        position += len(part)
        ends.append(position)
    return ends


def _positions(haystack: str, needle: str) -> list[int]:
    positions: list[int] = []
    start = haystack.find(needle)
    while start >= 0 and len(positions) < _SCANNED:
        positions.append(start)
        start = haystack.find(needle, start + len(needle))
    return positions


def _needles(terms: Sequence[str]) -> list[str]:
    """A term without a token (nothing but format characters) can match nowhere."""
    return list(dict.fromkeys(_marked(_tokens(term)) or _CLOSE + _OPEN + _CLOSE for term in terms))


def _marked(tokens: Sequence[str]) -> str:
    return f"{_OPEN}{(_CLOSE + _OPEN).join(tokens)}{_CLOSE}" if tokens else ""


def _tokens(text: str) -> list[str]:
    """Words, and single characters of everything else. A single blank stands for each run of white space."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    unseen = {ord(each): _UNSEEN[kind] for each in set(folded) if (kind := unicodedata.category(each)) in _UNSEEN}
    plain = " ".join(folded.translate(unseen).split())
    apart = {ord(each): f"{_OPEN}{each}{_OPEN}" for each in set(plain) if _stands_alone(each)}
    return [token for token in plain.translate(apart).split(_OPEN) if token]


_UNSEEN = {"Cf": "", "Cc": " "}
"""Format characters (soft hyphens, joiners, zero-width blanks) are dropped; control characters are blanks."""


def _stands_alone(character: str) -> bool:
    return not _is_word(character) or _is_unspaced(character)


def _is_word(token: str) -> bool:
    """Whether a token is (part of) a word: it begins with a letter, a digit, a mark or an underscore."""
    return token[:1].isalnum() or token[:1] == "_" or unicodedata.category(token[:1] or " ").startswith("M")


def _is_unspaced(character: str) -> bool:
    code = ord(character)
    position = bisect_left(_FIRST, code + 1) - 1
    return position >= 0 and code <= _UNSPACED[position][1]
