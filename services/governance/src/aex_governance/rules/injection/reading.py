"""A folded text as a row of words, each with its classes and its place in a sentence."""

import re
import unicodedata
from dataclasses import dataclass, field

from aex_governance.rules.injection.lexicon import BIT, TRAITS, Lexicon, lexicon

_STOPS = frozenset("!?。！？؟।۔…")
_FRESH = frozenset(",:;.!?\"'“”„«»‹›([{<>)*#|—–=`~،؛、，：「『」』\n•-_/")
_NAMING = frozenset("._$")  # not "_ignore this_", which is emphasis
_CALLING = frozenset("_(=$")
_CHARACTERS_A_WORD = 2
_LONGEST_GAP = 200
# What opens a comment or a docstring: what stands in it is said by itself. "://" is an address of the Web.
_COMMENT = re.compile(
    r"""(?<!:)//|/\*|<!--|\"{3}|'{3}|[\n;)}]\s{0,40}(?:--|#)|\]: ?# ?\(|(?:^|\n)[ \t]{0,40}(?:%|rem)$"""
)
_ORDERS = BIT["disregard"] | BIT["disregard_final"] | BIT["award"] | BIT["award_final"]
_WORD = re.compile("(?P<spaceless>c+)|w[wd]*|d+(?:pd+)*%?")


class _Shapes(dict[int, str]):
    """The kind of each character, worked out when first met."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        shape = self[code] = _shape(char, unicodedata.category(char))
        return shape


def _shape(char: str, category: str) -> str:
    if "\u3040" <= char <= "\u30ff" or "\u3400" <= char <= "\u9fff" or "\U00020000" <= char <= "\U0003ffff":
        return "c" if category[0] in "LM" else " "
    if category[0] in "LM":
        return "w"
    if category[0] == "N":
        return "d"
    return "p" if char in ".,/:" else "%" if char == "%" else " "


@dataclass(slots=True)
class Reading:
    """Parallel rows, a place for each word: hostile texts have tens of thousands."""

    text: str
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    masks: list[int] = field(default_factory=list)
    traits: list[int] = field(default_factory=list)
    """All classes of each word, those of whole sentences too."""
    sentences: list[int] = field(default_factory=list)
    fresh: list[bool] = field(default_factory=list)
    """Whether it begins a clause: nothing, a line's end or a mark stands before it."""
    memory: dict[tuple[str, int], bool] = field(default_factory=dict)
    """What was found out about a word once, by question: others ask again."""

    def word(self, place: int) -> str:
        """The word itself; empty beyond the row."""
        return self.text[self.starts[place] : self.ends[place]] if 0 <= place < len(self.masks) else ""

    def is_in_code(self, place: int) -> bool:
        """Part of a name or a call: `model.transform(x)`, `_judge_request`, `not model)`."""
        start, end = self.starts[place], self.ends[place]
        before, following = self.text[max(0, start - 2) : start], self.text[end : end + 2]
        if before[-1:] and before[-1:] in _NAMING and (before[:-1].isalnum() or before[:-1] in {")", "]"}):
            return True
        return following[:1] in _CALLING or (following[:1] == "." and following[1:].isalpha())

    def around(self, place: int, before: int, after: int, *, same_sentence: bool = True) -> int:
        """Classes of the words around a place, its own left out."""
        masks, sentences = self.masks, self.sentences
        here, found = sentences[place], 0
        for other in range(max(0, place - before), min(len(masks), place + after + 1)):
            if other != place and (not same_sentence or sentences[other] == here):
                found |= masks[other]
        return found

    def classes(self, places: range) -> int:
        """Classes of the words at these places."""
        found = 0
        for place in places:
            found |= self.masks[place]
        return found

    def places(self, place: int, before: int, after: int) -> range:
        """The places around one, within its sentence."""
        first, last = place, place
        while first > 0 and place - first < before and self.sentences[first - 1] == self.sentences[place]:
            first -= 1
        while last + 1 < len(self.masks) and last - place < after and self.sentences[last + 1] == self.sentences[place]:
            last += 1
        return range(first, last + 1)


def read(text: str) -> Reading:
    """Cut a folded text into words. Linear in its length."""
    known, reading = lexicon(), Reading(text)
    memory: dict[str, int] = {}
    sentence, last = 0, 0
    # Matched on shapes, one letter for each kind of character: the pattern cannot backtrack into itself.
    for found in _WORD.finditer(text.translate(_Shapes())):
        start, end = found.span()
        gap = text[last:start]
        between = gap[:_LONGEST_GAP]
        fresh = last == 0 or not _FRESH.isdisjoint(between) or not _STOPS.isdisjoint(between)
        if fresh and _ends_sentence(between):
            sentence += 1
        word = text[start:end]
        if found.lastgroup == "spaceless":
            _cut(reading, known, start, end, sentence, fresh)
        else:
            mask = memory.get(word)
            if mask is None:
                mask = memory[word] = known.mask(word)
            _append(reading, start, end, mask, sentence, fresh)
        last = end
    _join_phrases(reading, known)
    return reading


def _ends_sentence(gap: str) -> bool:
    if not _STOPS.isdisjoint(gap) or ("." in gap and len(gap) > 1) or gap.count("\n") > 1:
        return True
    return len(gap) > 1 and _COMMENT.search(gap) is not None


def _cut(reading: Reading, known: Lexicon, start: int, end: int, sentence: int, fresh: bool) -> None:
    """Words out of a row without spaces, the longest first; what lies between is cut into words of two characters."""
    text, place, loose = reading.text, start, start
    while place < end:
        for length in range(min(known.longest.get(text[place], 0), end - place), 0, -1):
            mask = known.spaceless.get(text[place : place + length])
            if mask is not None:
                for begin in range(loose, place, _CHARACTERS_A_WORD):
                    _append(reading, begin, min(begin + _CHARACTERS_A_WORD, place), 0, sentence, fresh)
                    fresh = False
                _append(reading, place, place + length, mask, sentence, fresh)
                fresh = False
                place = loose = place + length
                break
        else:
            place += 1
    for begin in range(loose, end, _CHARACTERS_A_WORD):
        _append(reading, begin, min(begin + _CHARACTERS_A_WORD, end), 0, sentence, fresh)
        fresh = False


def _join_phrases(reading: Reading, known: Lexicon) -> None:
    """Give every word of a phrase the phrase's class."""
    masks = list(reading.masks)
    for place in range(len(masks)):
        for phrase in known.phrases.get(reading.word(place), ()):
            last = place + len(phrase.rest)
            if all(reading.word(place + 1 + step) == word for step, word in enumerate(phrase.rest[:-1])) and (
                reading.word(last) == phrase.rest[-1]
                or (phrase.open_ended and reading.word(last).startswith(phrase.rest[-1]))
            ):
                for member in range(place, last + 1):
                    masks[member] |= phrase.mask
    # What is told of the past is no order.
    silent = BIT["neutral"]
    reading.traits = [mask & ~_ORDERS if mask & silent else mask for mask in masks]
    reading.masks = [mask & ~TRAITS for mask in reading.traits]


def _append(reading: Reading, start: int, end: int, mask: int, sentence: int, fresh: bool) -> None:
    reading.starts.append(start)
    reading.ends.append(end)
    reading.masks.append(mask)
    reading.sentences.append(sentence)
    reading.fresh.append(fresh)
