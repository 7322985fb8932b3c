"""Lists told from prose by their words: whoever copies prose may put any marks between the words of it. Pure."""

import re
from collections import Counter
from collections.abc import Sequence

from aex_governance.rules.folding import folded
from aex_governance.rules.text import tokens_of

_ITEM_END = re.compile(r"[.!?…。！？।؟۔](?!\d)|[,;:|\t\n\r=(){}\[\]<>、，；：،؛]")
_SHORT_ITEM = 3
"""Words; labels, names and fields of data have no more."""
_SINGLE_CHARACTER = 0.6
"""Of a word: in scripts without spaces a word has 1.7 characters on average."""
_MIN_SENTENCES = 0.3
"""Share of a text's words that stand in longer items where its marks are not those of a list."""
_WINDOW = 60
"""Words: the variety of a longer text is that of its windows, on average, or it would sink with the length."""
_MIN_VARIETY = 0.5
"""Types by tokens: prose has 0.6 and more, whatever its language; rows of a dozen labels have 0.2."""
_MIN_REPEATED = 0.06
"""Of the tokens, where the marks are a list's: prose says `the`, `and` and `of` again, lists of names nothing."""
_FUNCTION_WORDS = 0.75
"""The words that prose repeats are so much shorter than its others, weighted; labels are as long as each other."""
_MOST_BY_ONE = 0.75
"""Of the repeats: in a column of data one and the same word stands in every row."""
_MIN_WORDS = 0.3
"""Of the tokens; with fewer it is numbers."""


def is_list(text: str) -> bool:
    """Whether it is labels, tables, data, numbers, of which correct ones are equal, and no prose."""
    plain = folded(text)
    tokens = tokens_of(plain)
    words = [token for token in tokens if not token.isdecimal()]
    if len(words) < max(1, _MIN_WORDS * len(tokens)) or _variety(words) < _MIN_VARIETY:
        return True
    return _has_short_items(plain) and not _repeats_function_words(words)


def _variety(words: Sequence[str]) -> float:
    windows = [words[start : start + _WINDOW] for start in range(0, max(len(words) - _WINDOW // 2, 1), _WINDOW)]
    return sum(len(set(each)) / len(each) for each in windows) / len(windows)


def _has_short_items(plain: str) -> bool:
    items = [[word for word in tokens_of(item) if not word.isdecimal()] for item in _ITEM_END.split(plain)]
    words = sum(map(len, items))
    return sum(len(item) for item in items if _length(item) > _SHORT_ITEM) < _MIN_SENTENCES * max(words, 1)


def _repeats_function_words(words: Sequence[str]) -> bool:
    """Single characters of a script without spaces are as long as each other, and their variety has to do."""
    counts = Counter(words)
    mean = sum(map(len, counts)) / len(counts)
    repeats = {word: count - 1 for word, count in counts.items() if count > 1}
    times = sum(repeats.values())
    if times < _MIN_REPEATED * len(words) or max(repeats.values()) > _MOST_BY_ONE * times:
        return False
    return mean < 1.5 or sum(len(word) * count for word, count in repeats.items()) <= _FUNCTION_WORDS * mean * times


def _length(item: Sequence[str]) -> float:
    return sum(_SINGLE_CHARACTER if len(word) == 1 else 1.0 for word in item)
