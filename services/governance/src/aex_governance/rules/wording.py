"""Prose told by its words, whatever stands between them.

Prose has many different words, and a few short ones again and again. Labels are few; names, codes and terms hardly ever
come twice; the short words of titles stand among capitals.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aex_governance.rules.scripts import UNSPACED

_WINDOW = 100
"""Tokens: the longer a text, the more of any of its words come twice."""
_MIN_ALPHABETIC = 0.8
_MIN_ROOT_RATIO = 4.4
"""Types / √tokens, of 50 to 150 tokens: prose has 5.5 to 9, labels of 15 classes 1.7, a sentence eight times 0.9."""
_MIN_SPELLED_RATIO = 2.0
"""Of the letters of Thai, Lao, Burmese, Khmer, which are the tokens there."""
_SHORT_LETTERS = 4
_MIN_SHORT_SHARE = 0.1
_MIN_SHORT_TYPES = 4
_MIN_REPEATED_SHARE = 0.05
"""Of short words in languages that do without most of them."""
_FUNCTION_CHARACTERS = frozenset("的了是在不和有我他她这個个们與与也就都而及以之为被把从到上着过吗呢")
"""Chinese; in Japanese all hiragana serve."""
_MIN_FUNCTION_SHARE = 0.05
_MIN_RUN = 5.0
"""Characters of an unspaced script between marks and blanks: items have two to four."""
_UNSPACED_RUN = re.compile(rf"[{UNSPACED}]+")
_NAME = re.compile(r"[^\W\d_]{4,}")
_SEGMENT = re.compile(r"[\n\t,;|]+")
_MAX_CAPITALS = 0.75
_SHORT_SEGMENT = 9.0
_CODE = re.compile(r"\w[(\[{/]\w?|[=<>]=?\s|[{}]|\w_\w|[\"']\s*:|->|::|\w/\w")
_MAX_CODE = 0.12
"""For each token."""
_MIN_ROWS = 8


@dataclass(frozen=True, slots=True)
class Wording:
    """What the words of a text say about it."""

    is_prose: bool
    may_be_prose: bool
    """Its words do not rule it out; whether it is prose, its punctuation must tell."""
    is_list: bool
    """Titles or names, one after the other."""


def wording_of(raw: str, plain: str, tokens: Sequence[str], least_share: float) -> Wording:
    """Read the text as it came (its capitals tell titles), folded, and its tokens; prose needs this share of them."""
    capitals = _are_mostly_capitals(raw)
    is_list = capitals and len(tokens) < _SHORT_SEGMENT * len([each for each in _SEGMENT.split(raw) if each.strip()])
    strong = weak = 0
    for window in _windows(tokens):
        found = _look(window)
        strong += len(window) * found[0]
        weak += len(window) * found[1]
    needed = least_share * len(tokens)
    return Wording(
        is_prose=strong >= needed and not is_list and not _is_data(plain, len(tokens)),
        may_be_prose=weak >= needed and not capitals and _has_long_runs(plain, len(tokens)),
        is_list=is_list,
    )


def _windows(tokens: Sequence[str]) -> Iterator[Sequence[str]]:
    """Of about equal length."""
    count = max(1, round(len(tokens) / _WINDOW))
    for place in range(count):
        yield tokens[place * len(tokens) // count : (place + 1) * len(tokens) // count]


def _look(window: Sequence[str]) -> tuple[bool, bool]:
    """Whether the words are those of prose, and whether they may be."""
    counts = Counter(token for token in window if token.isalpha())
    alphabetic = counts.total()
    unspaced = sum(count for token, count in counts.items() if _UNSPACED_RUN.match(token))
    is_spelled = 2 * sum(count for token, count in counts.items() if "\u0e00" <= token <= "\u17ff") > alphabetic
    ratio = _MIN_SPELLED_RATIO if is_spelled and 2 * unspaced > alphabetic else _MIN_ROOT_RATIO
    if alphabetic < _MIN_ALPHABETIC * len(window) or len(counts) < ratio * alphabetic**0.5:
        return False, False
    if 2 * unspaced > alphabetic:
        function = sum(count for token, count in counts.items() if _is_function_character(token))
        return function >= _MIN_FUNCTION_SHARE * unspaced, True
    short = [count for token, count in counts.items() if count > 1 and len(token) <= _most_letters(token)]
    share = sum(short) / alphabetic
    return share >= _MIN_SHORT_SHARE and len(short) >= _MIN_SHORT_TYPES, share >= _MIN_REPEATED_SHARE


def _most_letters(token: str) -> int:
    """A Korean syllable is two or three letters by now; the scripts of India have lost their vowel signs."""
    if "\u1100" <= token[0] <= "\u11ff":
        return 2 * _SHORT_LETTERS
    return _SHORT_LETTERS // 2 if "\u0900" <= token[0] <= "\u0dff" else _SHORT_LETTERS


def _is_function_character(token: str) -> bool:
    return token in _FUNCTION_CHARACTERS or "\u3041" <= token <= "\u309f"


def _are_mostly_capitals(raw: str) -> bool:
    """Whether most words begin with a capital and go on in small letters."""
    words: list[str] = [word for word in _NAME.findall(raw) if not word.isupper()]
    return sum(word[0].isupper() for word in words) > _MAX_CAPITALS * len(words)


def _has_long_runs(plain: str, tokens: int) -> bool:
    runs = [len(run) for run in _UNSPACED_RUN.findall(plain)]
    return bool(2 * sum(runs) <= tokens or sum(runs) >= _MIN_RUN * len(runs))


def _is_data(plain: str, tokens: int) -> bool:
    """Code, JSON, tagged words, or rows of as many columns each."""
    if sum(1 for _ in _CODE.finditer(plain)) > _MAX_CODE * tokens:
        return True
    rows = [line for line in plain.split("\n") if line.strip()]
    columns = {row.count("\t") + row.count("|") for row in rows}
    return len(rows) >= _MIN_ROWS and len(columns) == 1 and columns != {0}
