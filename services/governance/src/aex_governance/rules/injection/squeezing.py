"""Words whose letters stand apart (i g n o r e, i-g-n-o-r-e), put together again."""

import re
from bisect import bisect_right
from functools import cache
from typing import Any

import re2

from aex_governance.rules.injection.folding import Folded
from aex_governance.rules.injection.lexicon import lexicon

_LEAST_LETTERS = 6
_GAP = re.compile("[^a-z]+")


def squeezed(folded: Folded) -> Folded | None:
    """The runs of single letters alone, each as the words that it spells; None where there are none."""
    pieces: list[str] = []
    view_starts: list[int] = []
    places: list[int] = []
    length = 0
    for run in _runs().finditer(folded.text):
        spelt = _spelt(run.group())
        view_starts.append(length)
        places.append(run.start())
        pieces += (spelt, "\n")
        length += len(spelt) + 1
    if not pieces:
        return None
    return Folded("".join(pieces), lambda place: folded.origin(places[max(0, bisect_right(view_starts, place) - 1)]))


@cache
def _runs() -> Any:
    apart = r"[ \t\n.\-_*|/·•~+]{1,3}"
    return re2.compile(rf"(?:\b[a-z]{apart}){{{_LEAST_LETTERS - 1},}}[a-z]\b")


def _spelt(run: str) -> str:
    """Where wider gaps part words they are kept; else the words that the rule knows are cut out of the row."""
    gaps = set(_GAP.findall(run))
    least = min((len(gap) for gap in gaps), default=1)
    wide = {gap for gap in gaps if len(gap) > least}
    if wide:
        return _GAP.sub(lambda gap: " " if gap.group() in wide else "", run)
    row = "".join(char for char in run if char.isalnum())
    return str(_known().sub(lambda word: f" {word.group()} ", row))


@cache
def _known() -> Any:
    options = re2.Options()
    options.longest_match = True
    words = sorted(word for word in lexicon().spellings if word.isascii() and word.isalpha() and len(word) > 2)
    return re2.compile("|".join(words), options)
