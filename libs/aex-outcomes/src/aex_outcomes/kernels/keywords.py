"""Search of required terms in a text: the share that occurs, and whether in prose or in lists.

Text and terms are NFKC-normalised and case-folded; invisible format characters are dropped and blanks reduced to one.
A term matches complete words. In scripts without spaces every character is a word, so that a term matches anywhere.
Text and terms are cut into tokens in the same way, and a linear search finds a term's tokens in a row.
The caller sets the maximum length of a normalised text (see `kernels.normalization`).
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

from aex_outcomes.kernels.normalization import (
    UNSPACED_CHARACTER,
    distinct_characters,
    is_combining_mark,
    normalize,
    replace_characters,
    select_non_word_characters,
    strip_invisible,
)

_OPEN, _CLOSE = "\x00", "\x01"
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|[\n\r。！？；]+")
_MAX_OCCURRENCES = 1_000
"""Maximum of examined occurrences of one term, because a hostile text may repeat it without limit."""


@dataclass(frozen=True, slots=True)
class KeywordLayout:
    """Occurrence of required terms in a text, in prose or lists: `keyword_stats` of spec file 5."""

    found: int
    """Number of different terms that occur."""
    density: float
    """Share of the text's words that belong to a required term."""
    list_share: float
    """Share of the found terms that occur only in lists or repeats, never in prose."""


def to_searchable_text(text: str, allowed_length: int | None = None) -> str:
    """Return the text normalised and tokenised for `compute_term_share`.

    Raises `NormalizedTooLong` if it has more than `allowed_length` code points after normalisation.
    """
    return _join_tokens(_tokens(text, allowed_length))


def compute_term_share(searchable_text: str, terms: Sequence[str]) -> float:
    """Return the share of the terms that occur in the text, from 0 to 1.

    `searchable_text`: result of `to_searchable_text`. Terms that are equal after normalisation count once.
    """
    needles = _needles(terms)
    return sum(needle in searchable_text for needle in needles) / len(needles)


def normalize_distinct_terms(terms: Sequence[str]) -> tuple[str, ...]:
    """Return the terms in normalised form, without those that are then equal to an earlier one."""
    return tuple(dict.fromkeys(" ".join(_tokens(term)) for term in terms))


def keyword_layout(text: str, terms: Sequence[str], allowed_length: int | None = None) -> KeywordLayout:
    """Count the terms that occur in the text, and the share of them that occurs only outside prose.

    Outside prose are lists and repeats. A sentence or line is a list if the terms are at least half of its words. It is
    a repeat if the same sentence or line came before. Raises `NormalizedTooLong` if the text has more than
    `allowed_length` code points after normalisation.
    """
    segments = _segments(text, allowed_length)
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
    """Return each different term as text to search for; a term without tokens gives one that never occurs."""
    return list(dict.fromkeys(_join_tokens(_tokens(term)) or _CLOSE + _OPEN + _CLOSE for term in terms))


def _join_tokens(tokens: Sequence[str]) -> str:
    return f"{_OPEN}{(_CLOSE + _OPEN).join(tokens)}{_CLOSE}" if tokens else ""


def _tokens(text: str, allowed_length: int | None = None) -> list[str]:
    """Return the tokens of the text: normalised words, and single characters such as punctuation."""
    plain = " ".join(strip_invisible(normalize(text, allowed_length)).split())
    return [token for token in _separate(plain).split(_OPEN) if token]


def _segments(text: str, allowed_length: int | None) -> list[list[str]]:
    """Return the tokens of each sentence or line, normalised in one call because one per line is slow."""
    lines = strip_invisible(normalize(_SENTENCE_END.sub("\n", text), allowed_length)).split("\n")
    plain = "\n".join([" ".join(line.split()) for line in lines])
    return [tokens for line in _separate(plain).split("\n") if (tokens := list(filter(None, line.split(_OPEN))))]


def _separate(plain: str) -> str:
    """Put separators around each character that is a token alone, such as punctuation or a CJK character."""
    characters = distinct_characters(plain)
    alone = [each for each in select_non_word_characters(characters) if each != "\n" and not is_combining_mark(each)]
    alone += UNSPACED_CHARACTER.findall(characters)
    return replace_characters(plain, {each: f"{_OPEN}{each}{_OPEN}" for each in alone})


def _is_word(token: str) -> bool:
    return token[:1].isalnum() or token[:1] == "_" or is_combining_mark(token[:1] or " ")
