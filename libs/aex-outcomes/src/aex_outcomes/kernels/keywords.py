"""Required terms in a text: which of them are there, and how they stand there.

Texts are compared NFKC-normalised and case-folded, with invisible format characters dropped and runs of white
space as one. A term matches on word boundaries; in scripts that write no spaces every character is a word of its
own, so that a term matches anywhere. Both texts are cut into the same tokens, and a term is there where its tokens
follow each other: one linear search for each term.

How long a text may become once it is normalised is the caller's to say (`kernels.folding`).
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from aex_outcomes.kernels.folding import distinct, folded, is_mark, no_letters, replaced, seen
from aex_outcomes.kernels.words import UNSPACED_CHARACTER

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


def searchable(text: str, longest: int | None = None) -> str:
    """The text in the form that `presence_in` searches. Raises `UnfoldsTooFar` beyond `longest` code points."""
    return _marked(_tokens(text, longest))


def presence_in(prepared: str, terms: Sequence[str]) -> Presence:
    """How many of the terms a text that `searchable` prepared has. Terms that are equal once normalised are one."""
    needles = _needles(terms)
    return Presence(sum(needle in prepared for needle in needles), len(needles))


def presence(text: str, terms: Sequence[str], longest: int | None = None) -> Presence:
    """The same of a text that is searched once. Raises `UnfoldsTooFar` beyond `longest` normalised code points."""
    return presence_in(searchable(text, longest), terms)


def distinct_terms(terms: Sequence[str]) -> tuple[str, ...]:
    """The terms in their normalised form, each once: equal ones always match together."""
    return tuple(dict.fromkeys(" ".join(_tokens(term)) for term in terms))


def standing(text: str, terms: Sequence[str], longest: int | None = None) -> Standing:
    """How the terms stand in the text. Raises `UnfoldsTooFar` beyond `longest` normalised code points.

    A segment (sentence or line) is a list where at least half of its words belong to terms, and a repeat where
    the same segment came before.
    """
    segments = _segments(text, longest)
    is_word = {token: _is_word(token) for token in set(chain.from_iterable(segments))}
    words = [sum(map(is_word.__getitem__, tokens)) for tokens in segments]
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


def _tokens(text: str, longest: int | None = None) -> list[str]:
    """Words, and single characters of everything else. A single blank stands for each run of white space."""
    return _cut(_apart(" ".join(seen(folded(text, longest)).split())))


def _segments(text: str, longest: int | None) -> list[list[str]]:
    """The tokens of each sentence or line. Normalised as one text: a call for each of many lines would take long."""
    lines = seen(folded(_SENTENCE_END.sub("\n", text), longest)).split("\n")
    plain = "\n".join([" ".join(line.split()) for line in lines])
    return [tokens for line in _apart(plain).split("\n") if (tokens := _cut(line))]


def _cut(apart: str) -> list[str]:
    return [token for token in apart.split(_OPEN) if token]


def _apart(plain: str) -> str:
    """With a mark on either side of each character that is a token of its own; line feeds stay what they are."""
    characters = distinct(plain)
    alone = [each for each in no_letters(characters) if each != "\n" and not is_mark(each)]
    alone += UNSPACED_CHARACTER.findall(characters)
    return replaced(plain, {each: f"{_OPEN}{each}{_OPEN}" for each in alone})


def _is_word(token: str) -> bool:
    """Whether a token is (part of) a word: it begins with a letter, a digit, a mark or an underscore."""
    return token[:1].isalnum() or token[:1] == "_" or is_mark(token[:1] or " ")
