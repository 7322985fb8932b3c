"""Where a text quotes or reports instead of speaking for itself: the line between a mention and an address.

A mention needs a mentioner. What lies in quotation marks, backticks, a code block or a block quote is a mention where
words of reporting stand near it ("attackers write", "for example", "he said"), or where the quotation is part of a
sentence of the author's own. Without marks it is a mention where reporting comes before it in its own sentence, or in
the line that leads into its list. It is an address where nobody reports it: alone, between two sentences, or as the
whole answer, in whatever marks; and where the words beside the marks turn to the reviewer themselves.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import re2

from aex_governance.rules.injection.grammar import language
from aex_governance.rules.injection.lexicon import BIT
from aex_governance.rules.injection.reading import Reading

_NEAR = 240
_LEAD_IN = 1_500
_MOST_NAMES = 40
_REPORTING = BIT["reporting"]
_ADDRESSEE = BIT["grader"] | BIT["machine"]
_LONGEST = 1_500
# A look at one character, and at most three before it: nothing for a backtracking engine to come back to.
_OPENING = re.compile(r"""(?m)(```|~~~|[`“„«「『‹])|^ {0,3}(>)|(?:^|[\s(\[—–:,>])(["'])""")
_APOSTROPHE = re.compile(r"'(?!\w)")
_CLOSERS = {"`": "`", "“": "”", "„": "“”", "«": "»", "「": "」", "『": "』", "‹": "›", '"': '"'}


@dataclass(frozen=True, slots=True)
class Quotation:
    """A stretch of text inside marks."""

    start: int
    end: int
    is_block: bool
    """A code block or block quote, not part of a sentence."""


class Quotations:
    """All quotations of a folded text, and which of its places are mentions."""

    def __init__(self, reading: Reading, *, in_prose: bool = True) -> None:
        self._reading = reading
        self._spans = list(_spans(reading.text, in_prose=in_prose))
        self._starts = [span.start for span in self._spans]
        self._mentioned: dict[int, bool] = {}
        masks = reading.masks
        self._reporting = [place for place, mask in enumerate(masks) if mask & _REPORTING]
        self._addressing = [place for place, mask in enumerate(masks) if mask & _ADDRESSEE and not mask & _REPORTING]

    def is_mention(self, start: int) -> bool:
        """Whether what stands there is reported, not said."""
        span = self._around(start)
        if span is None:
            return self._reported_before(start) or self._led_into(start)
        if span.start not in self._mentioned:
            self._mentioned[span.start] = self._is_mentioned(span)
        return self._mentioned[span.start]

    def _is_mentioned(self, span: Quotation) -> bool:
        if self._addresses(span.start - _NEAR, span.start) or self._addresses(span.end, span.end + _NEAR):
            return False
        if self._reports(span.start - _NEAR, span.start) or self._reports(span.end, span.end + _NEAR // 2):
            return True
        return self._led_into(span.start) or (not span.is_block and self._is_embedded(span))

    def _around(self, place: int) -> Quotation | None:
        # Spans come in order and do not overlap.
        index = bisect_right(self._starts, place) - 1
        return self._spans[index] if index >= 0 and place < self._spans[index].end else None

    def _words(self, start: int, end: int) -> range:
        reading = self._reading
        return range(bisect_right(reading.starts, max(-1, start - 1)), bisect_right(reading.starts, end - 1))

    def _reports(self, start: int, end: int) -> bool:
        return self._any(self._reporting, start, end)

    def _any(self, places: list[int], start: int, end: int) -> bool:
        words = self._words(start, end)
        first = bisect_left(places, words.start)
        return first < len(places) and places[first] < words.stop

    def _reported_before(self, place: int) -> bool:
        """Reporting in the same sentence, and not as a command or of the reader ("you are told to")."""
        reading = self._reading
        if reading.text[max(0, place - 4) : place].rstrip().endswith((",", ";")):
            return False  # a clause of its own: "whatever the rubric says, give this …"
        first = bisect_right(reading.starts, place)
        last = len(reading.masks) - 1
        sentence = reading.sentences[min(first, last)]
        spoken = language(reading, reading.places(min(first, last), 20, 12))
        for word in range(first - 2, max(-1, first - 26), -1):
            if reading.sentences[word] != sentence:
                return False
            mask = reading.masks[word]
            if mask & _REPORTING and mask & spoken and not mask & (_ADDRESSEE | BIT["attention"] | BIT["instructions"]):
                return not (mask & BIT["reporting"] and reading.fresh[word] and reading.around(word, 0, 2) & BIT["not"])
        return False

    def _led_into(self, place: int) -> bool:
        """An item of a list, or a block, whose lead-in reports."""
        text = self._reading.text
        line = text.rfind("\n", 0, place) + 1
        if text[line : line + 40].lstrip(" \t").startswith(('"""', "'''")):
            return False  # a docstring
        if not _item().match(text[line : line + 12]) and text[line : line + 1] not in "`>~":
            return False
        floor = max(0, line - _LEAD_IN)
        while line > floor:
            before = text.rfind("\n", floor, line - 1) + 1
            content = text[before : line - 1].strip()
            line = max(before, floor)
            if content and not _item().match(content):
                return self._reports(line, line + len(content) + 4)
        return False

    def _addresses(self, start: int, end: int) -> bool:
        """A reviewer spoken to, beside the quotation."""
        words = self._words(start, end)
        first = bisect_left(self._addressing, words.start)
        for place in self._addressing[first : first + _MOST_NAMES]:
            if place >= words.stop:
                break
            # Of the words beside it, those inside the quotation say nothing of who is spoken to.
            near = range(max(words.start, place - 4), min(words.stop, place + 4))
            if self._reading.classes(near) & BIT["you"]:
                return True
        return False

    def _is_embedded(self, span: Quotation) -> bool:
        text = self._reading.text
        before = text[max(0, span.start - 3) : span.start].rstrip(" (")
        after = text[span.end : span.end + 3].lstrip(" )")
        leads = bool(before) and before[-1] not in ".!?。！？\n:>" and before[-1].isprintable()
        return leads or (bool(after) and (after[0].isalpha() or after[0] in ",—–，、") and not after[0].isdigit())


def _spans(text: str, *, in_prose: bool) -> Iterator[Quotation]:
    """Quotations in order, none inside another. Each closing mark is looked up once: linear in the text."""
    # JSON's quotation marks are its syntax: they quote nothing.
    is_data = not in_prose or text.lstrip()[:1] in {"{", "["}
    closers: dict[str, int] = {}
    done = 0
    for found in _OPENING.finditer(text):
        group = next(number for number in (1, 2, 3) if found.start(number) >= 0)
        start, mark = found.start(group), found.group(group)
        if start < done or (is_data and mark in "\"'"):
            continue
        end = _block_end(text, start, mark)
        if end is None:
            end = _closed(text, start + len(mark), mark, closers)
            if end is None:
                continue
        yield Quotation(start, end, is_block=mark in {"```", "~~~", ">"})
        done = end


def _block_end(text: str, start: int, mark: str) -> int | None:
    """Where a code block or block quote ends: without a closing fence, with the text."""
    if mark in {"```", "~~~"}:
        fence = text.find(mark, start + 3)
        return len(text) if fence < 0 else fence + 3
    if mark == ">":
        end = text.find("\n", start)
        return len(text) if end < 0 else end
    return None


def _closed(text: str, start: int, mark: str, closers: dict[str, int]) -> int | None:
    """The end of a quotation within a sentence or two; an apostrophe inside a word closes nothing."""
    end = closers.get(mark, -1)
    if end < start:
        if mark == "'":
            match = _APOSTROPHE.search(text, start)
            end = match.start() if match else len(text)
        else:
            ends = [place for place in (text.find(sign, start) for sign in _CLOSERS[mark]) if place >= 0]
            end = min(ends, default=len(text))
        closers[mark] = end
    return None if end >= len(text) or end - start > _LONGEST or "\n\n" in text[start:end] else end + 1


@cache
def _item() -> Any:
    return re2.compile(r"\s{0,8}(?:[-*•+>|]|\d{1,3}[.)]|[a-z][.)]\s|[\"'“«`])")
