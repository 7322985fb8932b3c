"""Required terms in a text: which of them are there, and how they stand there.

Texts are compared NFKC-normalised and case-folded, with invisible format characters dropped and runs of white
space as one. A term matches on word boundaries; in scripts that write no spaces every character is a word of its
own, so that a term matches anywhere. Both texts are cut into the same tokens, and a term is there where its tokens
follow each other: one linear search for each term.

Canonical ordering takes time quadratic in a run of combining characters, so that no more than 30 in a row count
(UAX #15, stream-safe text): no writing has as many. One character can unfold to 18 under NFKC: how long a text may
become is the caller's to say.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

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
_UNSPACED_CHARACTER = re.compile(f"[{''.join(f'{chr(first)}-{chr(last)}' for first, last in _UNSPACED)}]")
_NO_LETTER = re.compile(r"\W")
_FURTHEST = 18
"""Characters that one may become under NFKC."""
_PIECE = 50_000
_OPEN, _CLOSE = "\x00", "\x01"
_LONGEST_RUN = 30
"""Combining characters in a row that count; further ones are dropped, in texts and in terms."""
_HIDDEN_MARKS = "\u0f73\u0f75\u0f81\uff9e\uff9f"
"""Characters that are no combining ones themselves, but unfold to nothing else."""
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|[\n\r。！？；]+")
_WITHIN_CLAUSES = frozenset(" -'\u2019\u2010\u2011")
_SCANNED = 1_000
"""Occurrences of one term that are looked at one by one: enough for a share, and bounded for hostile texts."""


class UnfoldsTooFar(ValueError):
    """Normalised, the text is longer than the caller takes."""


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


def words_of(text: str, longest: int | None = None) -> list[str]:
    """The words of the text in their normalised form. Raises `UnfoldsTooFar` beyond `longest` code points."""
    return [token for token in _tokens(text, longest) if _is_word(token)]


def clauses_of(text: str) -> list[list[str]]:
    """The same, clause by clause: each line and each mark ends one, but for marks that stand within words."""
    lines = _seen(_folded(text, None)).split("\n")
    clauses: list[list[str]] = []
    for line in _apart("\n".join([" ".join(line.split()) for line in lines])).split("\n"):
        clauses.append([])
        for token in _cut(line):
            if _is_word(token):
                clauses[-1].append(token)
            elif token not in _WITHIN_CLAUSES:
                clauses.append([])
    return [clause for clause in clauses if clause]


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
    return _cut(_apart(" ".join(_seen(_folded(text, longest)).split())))


def _segments(text: str, longest: int | None) -> list[list[str]]:
    """The tokens of each sentence or line. Normalised as one text: a call for each of many lines would take long."""
    lines = _seen(_folded(_SENTENCE_END.sub("\n", text), longest)).split("\n")
    plain = "\n".join([" ".join(line.split()) for line in lines])
    return [tokens for line in _apart(plain).split("\n") if (tokens := _cut(line))]


def _cut(apart: str) -> list[str]:
    return [token for token in apart.split(_OPEN) if token]


def _folded(text: str, longest: int | None) -> str:
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
    marks = [each for each in _NO_LETTER.findall("".join(set(text))) if unicodedata.combining(each)]
    marks += [each for each in _HIDDEN_MARKS if each in text]
    if not marks:
        return text
    mark = f"[{''.join(map(re.escape, marks))}]"
    # A set in front, not a repeat: re looks for the first mark quickly.
    return re.sub(f"({mark}{mark}{{{_LONGEST_RUN - 1}}}){mark}+", r"\1", text)


def _seen(folded: str) -> str:
    """Without format characters, and with blanks for control characters other than line feeds."""
    odd = [each for each in _NO_LETTER.findall("".join(set(folded))) if each != "\n"]
    unseen = {ord(each): _UNSEEN[kind] for each in odd if (kind := unicodedata.category(each)) in _UNSEEN}
    return folded.translate(unseen) if unseen else folded


def _apart(plain: str) -> str:
    """With a mark on either side of each character that is a token of its own; line feeds stay what they are."""
    distinct = "".join(set(plain))
    alone = [each for each in _NO_LETTER.findall(distinct) if each != "\n" and not _is_mark(each)]
    alone += _UNSPACED_CHARACTER.findall(distinct)
    return plain.translate({ord(each): f"{_OPEN}{each}{_OPEN}" for each in alone})


_UNSEEN = {"Cf": "", "Cc": " "}
"""Format characters (soft hyphens, joiners, zero-width blanks) are dropped; control characters are blanks."""


def _is_word(token: str) -> bool:
    """Whether a token is (part of) a word: it begins with a letter, a digit, a mark or an underscore."""
    return token[:1].isalnum() or token[:1] == "_" or _is_mark(token[:1] or " ")


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"
