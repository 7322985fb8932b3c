"""Analysis of a text's layout: lists, repeated sentences, headings, and figures with labels."""

import re
from collections import Counter
from collections.abc import Sequence

from aex_governance.text.free_text import tokenize
from aex_governance.text.normalization import confusable_skeleton
from aex_models.governance import KeywordStats

_ITEM_END = re.compile(r"[.!?…。！？।؟۔](?!\d)|[,;:|\t\n\r=(){}\[\]<>、，；：،؛]")
_SHORT_ITEM = 3
"""Words that a label, a name or a field of data has at most."""
_SINGLE_CHARACTER = 0.6
"""Words per character in scripts without spaces: a word has 1.7 characters on average."""
_MIN_SENTENCES = 0.3
"""Share of words in longer items; a text with at least this share is no list."""
_WINDOW = 60
"""Words of a window over which variety is measured, because variety falls with length."""
_MIN_VARIETY = 0.5
"""Distinct words per word: prose has 0.6 or more in every language; rows of a dozen labels have 0.2."""
_MIN_REPEATED = 0.06
"""Share of repeated words: prose repeats `the`, `and` and `of`; lists of names repeat nothing."""
_FUNCTION_WORDS = 0.75
"""Average length of repeated words relative to all words; labels are equally long, function words are short."""
_MOST_BY_ONE = 0.75
"""Share of the repeats by one word; a column of data has the same word in every row."""
_MIN_WORDS = 0.3
"""Share of tokens that are words; data have fewer."""
_SEGMENT_END = re.compile(r"(?<=[.!?;])\s+|[\n\r。！？；]+")
_MARKER = re.compile(r"^\s*(?:[-*•·–—>#]+|\d{1,3}[.)]|[A-Za-z][.)])\s+")
_WORD = re.compile(r"\w+")
_LABEL_WORDS = 8
_SENTENCE_MARKS = tuple(".!?;。！？；")
_FIRST_LINES = 2
_HEADING_WORDS = 4
_MIN_ITEMS = 3
_MIN_PROSE_WORDS = 25
_TIMES_THE_LIST = 2


def has_no_prose(text: str) -> bool:
    """Return whether the text consists of labels, tables, data or numbers, without prose."""
    plain = confusable_skeleton(text)
    tokens = tokenize(plain)
    words = [token for token in tokens if not token.isdecimal()]
    if len(words) < max(1, _MIN_WORDS * len(tokens)) or _variety(words) < _MIN_VARIETY:
        return True
    return _has_short_items(plain) and not _repeats_function_words(words)


def _variety(words: Sequence[str]) -> float:
    windows = [words[start : start + _WINDOW] for start in range(0, max(len(words) - _WINDOW // 2, 1), _WINDOW)]
    return sum(len(set(each)) / len(each) for each in windows) / len(windows)


def _has_short_items(plain: str) -> bool:
    items = [[word for word in tokenize(item) if not word.isdecimal()] for item in _ITEM_END.split(plain)]
    words = sum(map(len, items))
    return sum(len(item) for item in items if _length(item) > _SHORT_ITEM) < _MIN_SENTENCES * max(words, 1)


def _repeats_function_words(words: Sequence[str]) -> bool:
    # Single characters of a script without spaces have equal lengths: their variety decides.
    counts = Counter(words)
    mean = sum(map(len, counts)) / len(counts)
    repeats = {word: count - 1 for word, count in counts.items() if count > 1}
    times = sum(repeats.values())
    if times < _MIN_REPEATED * len(words) or max(repeats.values()) > _MOST_BY_ONE * times:
        return False
    return mean < 1.5 or sum(len(word) * count for word, count in repeats.items()) <= _FUNCTION_WORDS * mean * times


def _length(item: Sequence[str]) -> float:
    return sum(_SINGLE_CHARACTER if len(word) == 1 else 1.0 for word in item)


def compute_repeated_share(text: str) -> float:
    """Return the share of the text, in [0, 1], that is in sentences or lines that repeat an earlier one."""
    seen: set[tuple[str, ...]] = set()
    total = repeated = 0
    for segment in _SEGMENT_END.split(text):
        words = tuple(_WORD.findall(segment.casefold()))
        size = sum(map(len, words))
        total += size
        repeated += size if words in seen else 0
        seen.add(words)
    return repeated / total if total else 0.0


def may_be_headings_or_labels(stats: KeywordStats, text: str) -> bool:
    """Return whether headings and labelled figures can account for all keywords found in lists.

    A heading is a short line above a longer one. A labelled figure is a short line with a word and a number.
    """
    lines = [_MARKER.sub("", line).strip() for line in text.splitlines() if line.strip()]
    sizes = [len(_WORD.findall(line)) for line in lines]
    labels = 0
    for line, size, below in zip(lines, sizes, [*sizes, 0][1:], strict=True):
        if 0 < size <= _LABEL_WORDS:
            is_heading = below > 2 * size and not line.endswith(_SENTENCE_MARKS) and "," not in line
            kinds = [(word[0].isdigit(), word[0].isalpha()) for word in _WORD.findall(line)]
            labels += is_heading or all(map(any, zip(*kinds, strict=True)))
    return labels >= max(stats.found * stats.list_share, 1)


def begins_with_headed_list(text: str) -> bool:
    """Return whether the text begins with a short list under a heading, then prose of twice its length.

    Ingredients, materials and participants are listed in this way; the prose need not repeat them.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    is_item = [bool(_MARKER.match(line)) and not line.startswith("#") for line in lines]
    first = is_item.index(True) if True in is_item else len(lines)
    if not 1 <= first <= _FIRST_LINES or len(_WORD.findall(lines[first - 1])) > _HEADING_WORDS:
        return False
    last = next((place for place in range(first, len(lines)) if not is_item[place]), len(lines))
    items, rest = lines[first:last], lines[last:]
    if len(items) < _MIN_ITEMS or any(is_item[last:]) or not rest or not rest[-1].endswith(_SENTENCE_MARKS):
        return False
    words = sum(len(_WORD.findall(line)) for line in rest if line.endswith(_SENTENCE_MARKS))
    return words >= max(_MIN_PROSE_WORDS, _TIMES_THE_LIST * sum(len(_WORD.findall(line)) for line in items))
