"""Recognition of prose by its words, independent of punctuation.

Prose has many different words and repeats a few short ones. Labels have few different words. Names, codes and terms
rarely repeat, and titles have capitals.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from aex_governance.text.normalization import UNSPACED

_WINDOW = 100
"""Tokens of a window over which repetition is measured, because it grows with the length of a text."""
_MIN_ALPHABETIC = 0.8
_MIN_ROOT_RATIO = 4.4
"""Distinct words / √words over 50 to 150 words: prose has 5.5 to 9, labels of 15 classes 1.7."""
_MIN_SPELLED_RATIO = 2.0
"""Same ratio for Thai, Lao, Burmese and Khmer, whose tokens are letters."""
_SHORT_LETTERS = 4
_MIN_SHORT_SHARE = 0.1
_MIN_SHORT_TYPES = 4
_MIN_REPEATED_SHARE = 0.05
"""Lower share of repeated short words, for languages that have few short words."""
_FUNCTION_CHARACTERS = frozenset("的了是在不和有我他她这個个们與与也就都而及以之为被把从到上着过吗呢")
"""Function words of Chinese; in Japanese all hiragana count as such."""
_MIN_FUNCTION_SHARE = 0.05
_MIN_RUN = 5.0
"""Average characters between marks in scripts without spaces; items of lists have two to four."""
_UNSPACED_RUN = re.compile(rf"[{UNSPACED}]+")
_NAME = re.compile(r"[^\W\d_]{4,}")
_SEGMENT = re.compile(r"[\n\t,;|]+")
_MAX_CAPITALS = 0.75
_SHORT_SEGMENT = 9.0
_CODE = re.compile(r"\w[(\[{/]\w?|[=<>]=?\s|[{}]|\w_\w|[\"']\s*:|->|::|\w/\w")
_MAX_CODE = 0.12
"""Marks of code per token."""
_MIN_ROWS = 8


@dataclass(frozen=True, slots=True)
class ProseSignals:
    """Kind of a text according to its words."""

    is_prose: bool
    """True if the words alone show that it is prose."""
    may_be_prose: bool
    """True if the words do not rule out prose; then the punctuation decides."""
    is_list: bool
    """True for a sequence of titles or names."""


def analyze_wording(raw: str, plain: str, tokens: Sequence[str], min_prose_share: float) -> ProseSignals:
    """Return the kind of a text: `raw` as written, `plain` as normalised, and `tokens` of `plain`.

    At least `min_prose_share` of the tokens must be prose.
    """
    capitals = _are_mostly_capitals(raw)
    is_list = capitals and len(tokens) < _SHORT_SEGMENT * len([each for each in _SEGMENT.split(raw) if each.strip()])
    strong = weak = 0
    windows = max(1, round(len(tokens) / _WINDOW))
    for index in range(windows):
        window = tokens[index * len(tokens) // windows : (index + 1) * len(tokens) // windows]
        found = _classify(window)
        strong += len(window) * found[0]
        weak += len(window) * found[1]
    needed = min_prose_share * len(tokens)
    return ProseSignals(
        is_prose=strong >= needed and not is_list and not _is_data(plain, len(tokens)),
        may_be_prose=weak >= needed and not capitals and _has_long_runs(plain, len(tokens)),
        is_list=is_list,
    )


def _classify(window: Sequence[str]) -> tuple[bool, bool]:
    """Return whether the words are those of prose, and whether they may be."""
    counts = Counter(token for token in window if token.isalpha())
    alphabetic = counts.total()
    unspaced = sum(count for token, count in counts.items() if _UNSPACED_RUN.match(token))
    is_spelled = 2 * sum(count for token, count in counts.items() if "\u0e00" <= token <= "\u17ff") > alphabetic
    ratio = _MIN_SPELLED_RATIO if is_spelled and 2 * unspaced > alphabetic else _MIN_ROOT_RATIO
    if alphabetic < _MIN_ALPHABETIC * len(window) or len(counts) < ratio * alphabetic**0.5:
        return False, False
    if 2 * unspaced > alphabetic:
        function = sum(
            count for token, count in counts.items() if token in _FUNCTION_CHARACTERS or "\u3041" <= token <= "\u309f"
        )
        return function >= _MIN_FUNCTION_SHARE * unspaced, True
    short = [count for token, count in counts.items() if count > 1 and len(token) <= _max_short_letters(token)]
    share = sum(short) / alphabetic
    return share >= _MIN_SHORT_SHARE and len(short) >= _MIN_SHORT_TYPES, share >= _MIN_REPEATED_SHARE


def _max_short_letters(token: str) -> int:
    # In a skeleton a Korean syllable has two or three letters, and Indic scripts have no vowel signs.
    if "\u1100" <= token[0] <= "\u11ff":
        return 2 * _SHORT_LETTERS
    return _SHORT_LETTERS // 2 if "\u0900" <= token[0] <= "\u0dff" else _SHORT_LETTERS


def _are_mostly_capitals(raw: str) -> bool:
    words: list[str] = [word for word in _NAME.findall(raw) if not word.isupper()]
    return sum(word[0].isupper() for word in words) > _MAX_CAPITALS * len(words)


def _has_long_runs(plain: str, tokens: int) -> bool:
    runs = [len(run) for run in _UNSPACED_RUN.findall(plain)]
    return bool(2 * sum(runs) <= tokens or sum(runs) >= _MIN_RUN * len(runs))


def _is_data(plain: str, tokens: int) -> bool:
    """Return whether the text is code, JSON, tagged words, or rows with equally many columns."""
    if sum(1 for _ in _CODE.finditer(plain)) > _MAX_CODE * tokens:
        return True
    rows = [line for line in plain.split("\n") if line.strip()]
    columns = {row.count("\t") + row.count("|") for row in rows}
    return len(rows) >= _MIN_ROWS and len(columns) == 1 and columns != {0}
