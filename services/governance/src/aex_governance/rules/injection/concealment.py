"""Words that a page does not show: no size, no colour, no display. What they say is for a machine."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import re2

from aex_governance.rules.injection.effort import Effort
from aex_governance.rules.injection.grammar import ADDRESSEE, AWARD, DISREGARD, PERFECT
from aex_governance.rules.injection.lexicon import BIT
from aex_governance.rules.injection.reading import Reading

_MOST_WORDS = 60
_LONGEST = 2_000
_UNSEEN = (
    r"<[a-z][a-z0-9]{0,12}\s[^<>]{0,200}?(?:display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden|"
    r"opacity\s{0,3}:\s{0,3}0(?:\.0\d?)?[;\"'\s]|font-size\s{0,3}:\s{0,3}[01](?:px|pt|em|rem|%)?[;\"'\s]|"
    r"color\s{0,3}:\s{0,3}(?:white|#fff(?:fff)?|transparent)|\shidden\b|aria-hidden)[^<>]{0,200}>",
    r"\\textcolor\{white\}\{|\\color\{white\}|\\(?:phantom|hphantom)\{",
)


def concealed(reading: Reading, effort: Effort) -> Iterator[tuple[int, int]]:
    """Where unseen words of a folded text speak of a verdict on it, or of instructions to drop."""
    word = 0
    for found in _unseen().finditer(reading.text):
        if not effort.spends("unseen"):
            continue
        while word < len(reading.starts) and reading.starts[word] < found.end():
            word += 1
        closing = reading.text.find("<" if found.group()[0] == "<" else "}", found.end(), found.end() + _LONGEST)
        last = word
        while last < min(len(reading.starts), word + _MOST_WORDS) and not 0 <= closing < reading.starts[last]:
            last += 1
        if _weighs(reading, range(word, last)):
            yield found.start(), reading.ends[last - 1]


def _weighs(reading: Reading, places: range) -> bool:
    found = reading.classes(places)
    perfect = any(reading.word(place) in PERFECT for place in places)
    best = perfect or (found & BIT["highest"] and found & BIT["score"])
    told = found & DISREGARD and found & (BIT["instructions"] | BIT["rubric"])
    named = found & ADDRESSEE and (best or found & (BIT["passing"] | BIT["accepting"])) and found & AWARD
    itself = found & BIT["this"] and found & BIT["product"] and (best or found & (BIT["passing"] | BIT["accepting"]))
    return bool(told or named or itself)


@cache
def _unseen() -> Any:
    return re2.compile("|".join(f"(?:{pattern})" for pattern in _UNSEEN))
