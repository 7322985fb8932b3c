"""Texts of an output: its main text, and other strings that may be copied or may address a judge."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

MAX_OTHER = 50_000
"""Maximum code points of the other text; of the reasoning half as many."""
_MIDDLE_SHARE = 0.25
"""Share of a shortened text that is taken from its middle."""
_SENTENCE_LIKE = 30
"""Minimum code points of an object's key to be treated as text."""
_SENTENCE_WORDS = 5
"""Minimum words of a string that is no label."""
_DECOY = 0.5
"""Words of the text, as a share of the words elsewhere in the output, below which it is a decoy."""
_WORD = re.compile(r"[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W\d_]\w*")
"""A word; in scripts without blanks between words, a single character."""
_CUT_LINE = 400
"""Maximum code points of a piece of a line."""
_OVERLAP = 100
_MARKED = (
    r"[\[\]{}<>|`\\\x{ad}\x{34f}\x{61c}\x{180e}\x{200b}-\x{200f}\x{2028}-\x{202e}\x{2060}-\x{206f}\x{fe00}-\x{fe0f}\x{feff}\x{e0000}-\x{e0fff}]"
    r"|[A-Za-z0-9+/]{60}"
)
"""Characters of data, of chat templates and of hidden text, and long runs as of Base64."""


def main_text(output: Any, extracted_text: str | None, cut_at_chars: int) -> str | None:
    """Return the extracted text, or all strings of the output if that text is missing or a decoy.

    A text is a decoy if most words of the output are elsewhere. Joined strings are cut at `cut_at_chars` code points,
    and their lone surrogates become question marks. None if the output has no string.
    """
    if extracted_text and isinstance(output, str):
        return extracted_text
    if extracted_text:
        strings = dict.fromkeys(_strings(output))
        elsewhere = sum(_words(each) for each in strings if each != extracted_text)
        if not elsewhere or _words(extracted_text, least=0) >= _DECOY * elsewhere:
            return extracted_text
    return join_nested_strings(output)[:cut_at_chars].encode("utf-8", "replace").decode() or extracted_text


def collect_reasoning_and_other_text(
    output: Any, main: str | None, main_chars_left_out: int, reasoning: str | None
) -> str | None:
    """Return the reasoning and the output's strings beside its main text, one per line, each once.

    `main`: result of `main_text`, of which the first `main_chars_left_out` code points are left out, because they are
    read elsewhere. A long result is reduced to its beginning, its end and different lines of its middle, so that
    repeated padding hides nothing. None if it would be empty.
    """
    strings = dict.fromkeys(_strings(output))
    if main is not None and main in strings:
        strings.pop(main)
        strings[main[main_chars_left_out:]] = None
    elif main is not None:
        strings = {join_nested_strings(output)[main_chars_left_out:]: None}
    rest = "\n".join(filter(None, strings))
    thoughts = _shorten(reasoning or "", MAX_OTHER // 2)
    text = "\n".join(filter(None, (thoughts, _shorten(rest, MAX_OTHER - 1 - len(thoughts)))))
    return text or None


def join_nested_strings(value: Any) -> str:
    """Return all strings within a JSON value in order, one per line; long keys of objects are included."""
    return "\n".join(filter(None, _strings(value)))


def _strings(value: Any) -> Iterator[str]:
    """Yield the strings of a value in order, without recursion, because a candidate chooses the nesting."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            for key, inner in reversed(item.items()):
                stack.append(inner)
                if isinstance(key, str) and len(key) >= _SENTENCE_LIKE:
                    stack.append(key)
        elif isinstance(item, list | tuple):
            if set(map(type, item)) == {str}:  # labels, often, by the thousand
                yield from item
            else:
                stack.extend(reversed(item))


def _words(text: str, least: int = _SENTENCE_WORDS) -> int:
    count = sum(1 for _ in _WORD.finditer(text))
    return count if count >= least else 0


def _shorten(text: str, size: int) -> str:
    """Return the text's beginning, selected different lines of its middle, and its end, if it is too long."""
    if len(text) <= size:
        return text
    kept = int(_MIDDLE_SHARE * size)
    half = (size - kept - 2) // 2
    pieces = list(dict.fromkeys(_split_lines(text[half : len(text) - half])))
    return "\n".join(filter(None, (text[:half], "\n".join(_select(pieces, kept)), text[-half:])))


def _split_lines(text: str) -> Iterator[str]:
    """Yield the lines of a text; a long line in pieces that overlap."""
    for line in text.split("\n"):
        for start in range(0, len(line), _CUT_LINE):
            yield line[max(start - _OVERLAP, 0) : start + _CUT_LINE]


def _select(pieces: Sequence[str], size: int) -> list[str]:
    """Return as many pieces as fit in `size` code points with a line break each, in their order.

    Pieces with suspicious characters have precedence, then those nearest to either end.
    """
    import re2  # noqa: PLC0415 only texts that are too long need it

    marked = re2.compile(_MARKED)
    is_marked = [bool(marked.search(piece.encode("utf-8", "replace").decode())) for piece in pieces]
    order = sorted(range(len(pieces)), key=lambda at: (not is_marked[at], min(at, len(pieces) - 1 - at)))
    selected: list[int] = []
    for index in order:
        size -= len(pieces[index]) + 1
        if size < 0:
            break
        selected.append(index)
    return [pieces[index] for index in sorted(selected)]
