"""Required terms in a text: their number and their layout.

Texts are compared NFKC-normalised and case-folded, without invisible format characters, with single blanks. A term
matches on word boundaries. In scripts without spaces every character is a word, so that a term matches anywhere.
Text and terms are cut into the same tokens; one linear search finds a term where its tokens follow each other.
The caller sets the maximum length of a normalised text (`kernels.normalization`).
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

from aex_outcomes.kernels.normalization import (
    UNSPACED_CHARACTER,
    distinct_characters,
    is_mark,
    non_letters,
    normalize,
    replace_characters,
    strip_invisible,
)

_OPEN, _CLOSE = "\x00", "\x01"
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|[\n\r。！？；]+")
_MAX_OCCURRENCES = 1_000
"""Occurrences of one term that are examined: enough for a share, and bounded for hostile texts."""


@dataclass(frozen=True, slots=True)
class KeywordLayout:
    """Layout of terms in a text: spec file 5's `keyword_stats`."""

    found: int
    density: float
    """Share of the text's words that belong to a required term."""
    list_share: float
    """Share of the found terms that occur only in lists or repeats, never in prose."""


def searchable_text(text: str, max_length: int | None = None) -> str:
    """Return the text in the form that `term_share` searches.

    Raises `NormalizedTooLong` beyond `max_length` code points.
    """
    return _join_tokens(_tokens(text, max_length))


def term_share(prepared: str, terms: Sequence[str]) -> float:
    """Return the share of the terms in a text from `searchable_text`; equal normalised terms count once."""
    needles = _needles(terms)
    return sum(needle in prepared for needle in needles) / len(needles)


def distinct_terms(terms: Sequence[str]) -> tuple[str, ...]:
    """Return the normalised terms, each once."""
    return tuple(dict.fromkeys(" ".join(_tokens(term)) for term in terms))


def keyword_layout(text: str, terms: Sequence[str], max_length: int | None = None) -> KeywordLayout:
    """Return the layout of the terms in the text.

    A segment (sentence or line) is a list where terms make up at least half of its words. It is a repeat where the
    same segment came before. Raises `NormalizedTooLong` beyond `max_length` normalised code points.
    """
    segments = _segments(text, max_length)
    is_word = {token: _is_word(token) for token in set(chain.from_iterable(segments))}
    words = [sum(map(is_word.__getitem__, tokens)) for tokens in segments]
    if not sum(words):
        return KeywordLayout(0, 0.0, 0.0)
    searchable = [_join_tokens(tokens) + "\x02" for tokens in segments]
    ends = list(accumulate(map(len, searchable)))
    haystack = "".join(searchable)
    covered = [0] * len(segments)
    segments_by_term: list[set[int]] = []
    in_terms = 0
    for needle in _needles(terms):
        size = sum(_is_word(token) for token in needle.strip(_OPEN + _CLOSE).split(_CLOSE + _OPEN))
        in_terms += haystack.count(needle) * size
        hits = [bisect_right(ends, position) for position in _positions(haystack, needle)]
        for segment in hits:
            covered[segment] += size
        if hits:
            segments_by_term.append(set(hits))
    first = dict(zip(reversed(searchable), reversed(range(len(searchable))), strict=True))
    unlike_prose = [
        first[segment] < index or 2 * covered[index] >= max(words[index], 1) for index, segment in enumerate(searchable)
    ]
    in_lists = sum(all(unlike_prose[segment] for segment in term_segments) for term_segments in segments_by_term)
    return KeywordLayout(
        found=len(segments_by_term),
        density=min(in_terms / sum(words), 1.0),
        list_share=in_lists / len(segments_by_term) if segments_by_term else 0.0,
    )


def _positions(haystack: str, needle: str) -> list[int]:
    positions: list[int] = []
    start = haystack.find(needle)
    while start >= 0 and len(positions) < _MAX_OCCURRENCES:
        positions.append(start)
        start = haystack.find(needle, start + len(needle))
    return positions


def _needles(terms: Sequence[str]) -> list[str]:
    """Return the search texts; a term without tokens matches nothing."""
    return list(dict.fromkeys(_join_tokens(_tokens(term)) or _CLOSE + _OPEN + _CLOSE for term in terms))


def _join_tokens(tokens: Sequence[str]) -> str:
    return f"{_OPEN}{(_CLOSE + _OPEN).join(tokens)}{_CLOSE}" if tokens else ""


def _tokens(text: str, max_length: int | None = None) -> list[str]:
    """Return words, and single characters of everything else, with single blanks."""
    plain = " ".join(strip_invisible(normalize(text, max_length)).split())
    return [token for token in _separate(plain).split(_OPEN) if token]


def _segments(text: str, max_length: int | None) -> list[list[str]]:
    """Return the tokens of each sentence or line, normalised as one text: a call for each line is slow."""
    lines = strip_invisible(normalize(_SENTENCE_END.sub("\n", text), max_length)).split("\n")
    plain = "\n".join([" ".join(line.split()) for line in lines])
    return [tokens for line in _separate(plain).split("\n") if (tokens := list(filter(None, line.split(_OPEN))))]


def _separate(plain: str) -> str:
    """Put a mark around each character that is a token of its own."""
    characters = distinct_characters(plain)
    alone = [each for each in non_letters(characters) if each != "\n" and not is_mark(each)]
    alone += UNSPACED_CHARACTER.findall(characters)
    return replace_characters(plain, {each: f"{_OPEN}{each}{_OPEN}" for each in alone})


def _is_word(token: str) -> bool:
    return token[:1].isalnum() or token[:1] == "_" or is_mark(token[:1] or " ")
