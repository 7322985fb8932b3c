"""How a text with required terms is laid out: repeats, headings, labelled figures, a list with its heading. Pure."""

import re

from aex_models.governance import KeywordStats

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


def repeated_share(text: str) -> float:
    """Share of the text that lies in sentences or lines which came before, word for word."""
    seen: set[tuple[str, ...]] = set()
    total = again = 0
    for segment in _SEGMENT_END.split(text):
        words = tuple(_WORD.findall(segment.casefold()))
        size = sum(map(len, words))
        total += size
        again += size if words in seen else 0
        seen.add(words)
    return again / total if total else 0.0


def may_be_labels(stats: KeywordStats, text: str) -> bool:
    """Whether there are enough headings and labelled figures for the terms in lists to be those.

    A heading is a short line above a longer one; a labelled figure is a short line with a word and a number.
    """
    lines = [_MARKER.sub("", line).strip() for line in text.splitlines() if line.strip()]
    sizes = [len(_WORD.findall(line)) for line in lines]
    labels = 0
    for line, size, below in zip(lines, sizes, [*sizes, 0][1:], strict=True):
        if 0 < size <= _LABEL_WORDS:
            is_heading = below > 2 * size and not line.endswith(_SENTENCE_MARKS) and "," not in line
            labels += is_heading or _is_figure(line)
    return labels >= max(stats.found * stats.list_share, 1)


def _is_figure(line: str) -> bool:
    words = _WORD.findall(line)
    return any(word[0].isdigit() for word in words) and any(word[0].isalpha() for word in words)


def is_headed_list(text: str) -> bool:
    """Whether it begins with a short list under a heading of its own, and sentences twice as long follow.

    Ingredients, materials and participants stand so: prose about them need not name them again.
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
