"""Normalised text of a candidate with a mapping back to the original, and excerpts of the original."""

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from html import unescape
from itertools import accumulate
from typing import NamedTuple

from aex_governance.text.normalization import confusable_skeleton, is_hidden

MAX_EXCERPT = 200
_ESCAPE = re.compile(r"\\{1,4}(?:u[0-9a-fA-F]{4}|[nrt\"/])|&#x?[0-9a-fA-F]{1,6};|&(?:lt|gt|amp|quot|apos|nbsp);")
_ESCAPED = {"n": "\n", "r": "\n", "t": " "}
_FIXED = {"\r": " ", "\n": "\n", "\u2018": "'", "\u2019": "'", "\u02bc": "'"}


class InjectionSpan(NamedTuple):
    """Suspicious part of a text; offsets in code points."""

    kind: str
    """Kind of the suspicion, such as `chat_template`."""
    start: int
    """Offset of its first character."""
    end: int
    """Offset after its last character."""


@dataclass(frozen=True, slots=True)
class PlainText:
    """Normalised form of a text, for pattern matching."""

    text: str
    """Skeleton of the text (`confusable_skeleton`), with escape sequences decoded."""
    origin: Callable[[int], int]
    """Function from an offset of `text` to the offset in the original text."""


def normalize_with_offsets(original: str) -> PlainText:
    """Return the normalised text: HTML references and JSON escapes decoded once, then its skeleton."""
    pieces: list[str] = []
    starts, ends, length, done = [0], [0], 0, 0
    for match in _ESCAPE.finditer(original):
        pieces += (original[done : match.start()], _unescape(match.group()))
        length += match.start() - done + len(pieces[-1])
        done = match.end()
        starts.append(length)
        ends.append(done)
    text = "".join((*pieces, original[done:]))
    skeletons = {ord(each): _FIXED.get(each) or confusable_skeleton(each) for each in set(text)}

    @cache
    def offsets() -> list[int]:
        return list(accumulate(len(skeletons[ord(character)]) for character in text))

    def origin(offset: int) -> int:
        position = bisect_right(offsets(), offset)
        index = bisect_right(starts, position) - 1
        return min(ends[index] + position - starts[index], max(0, len(original) - 1))

    return PlainText(text.translate(skeletons), origin)


def format_excerpt(text: str, start: int, end: int) -> str:
    """Return up to 200 characters around a span, with hidden characters written as `<U+200B>`."""
    signs, length = [], 0
    for character in text[max(0, start - 20) : min(len(text), end + 60)]:
        sign = " " if character in "\n\t\r" else f"<U+{ord(character):04X}>" if is_hidden(character) else character
        if length + len(sign) > MAX_EXCERPT:
            break
        signs.append(sign)
        length += len(sign)
    return "".join(signs)


def _unescape(escape: str) -> str:
    if escape[0] == "&":
        return unescape(escape)
    code = escape.lstrip("\\")
    # Halves of surrogate pairs stay as they are: the encoder of the patterns refuses them.
    if code[0] == "u":
        return escape if "d800" <= code[1:].lower() <= "dfff" else chr(int(code[1:], 16))
    return _ESCAPED.get(code, code)
