"""Positions of long values in a JSON text without whitespace, found in short steps, not by parsing.

One call that parses megabytes would hold the interpreter lock for up to a tenth of a second.
"""

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

LONG_BYTES = 16_384
"""Length above which a value is long. Models limit what is longer only in its maximum length."""
_MAX_QUOTES = 40_000
"""Quotation marks that are searched for long values. A text with more is parsed faster than searched."""
_MAX_NAME = 64
"""The longest name of a field."""
_STEP = 16_384
"""Bytes that one call searches, in a fraction of a millisecond."""
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]', re.DOTALL)
_PAIR = re.compile(rb"\[\]|\{\}")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_DEPTH = {b"[": 1, b"{": 1, b"]": -1, b"}": -1}


class Span(NamedTuple):
    """Start and end of a string, of several strings of an array, or of all parts of an array or object."""

    start: int
    end: int
    is_object: bool = False
    """True if these are all parts of an object."""


def find_long_values(text: bytes, opaque_fields: Collection[str]) -> Iterator[Span]:
    """Yield the positions of long strings and of long values of opaque fields, from left to right.

    The strings at the beginning of an array, with the commas between them, count as one string. The search ends after
    a number of quotation marks outside of the values of opaque fields.
    """
    opaque = {name.encode() for name in opaque_fields}
    start: int | None = None  # of the current string
    first: int | None = None  # the same, or the start of the first string in its array
    position = 0
    for _ in range(_MAX_QUOTES if len(text) > LONG_BYTES else 0):
        quote = text.find(b'"', position)
        if quote < 0:
            return
        position = quote + 1
        if start is None or first is None:
            start, first = quote, quote if first is None else first
            continue
        if _is_escaped(text, quote):
            continue
        length, following = position - start, text[position : position + 2]
        name = text[start + 1 : quote] if length < _MAX_NAME and following in {b":[", b":{"} else None
        start = None
        if following == b',"' and text[first - 1] == ord("["):
            continue
        if position - first > LONG_BYTES:
            yield Span(first, position)
        elif name in opaque:
            begin, position = position + 2, find_value_end(text, position + 1)
            if position - begin > LONG_BYTES:
                yield Span(begin, position - 1, following == b":{")
        first = None


def find_value_end(text: bytes, start: int) -> int:
    """Return the position behind the array or object that begins at `start`.

    If the value has no end, that is the end of the text.
    """
    depth, position = 1, start + 1
    while position < len(text):
        parts = text[position : position + _STEP].replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')
        brackets = b"".join(parts[::2]).translate(None, _NO_BRACKETS)  # strings are every second part
        while (fewer := _PAIR.sub(b"", brackets)) != brackets:
            brackets = fewer
        closing = len(brackets) - len(brackets.lstrip(b"]}"))
        if closing >= depth:
            return _find_end_in_step(text, position, depth)
        depth += len(brackets) - 2 * closing
        position += _STEP
        if len(parts) % 2 == 0:  # inside of a string
            position = _find_string_end(text, position)
    return len(text)


def _find_end_in_step(text: bytes, position: int, depth: int) -> int:
    for token in _TOKEN.finditer(text, position):
        depth += _DEPTH.get(token[0], 0)
        if depth == 0:
            return token.end()
    return len(text)


def _find_string_end(text: bytes, position: int) -> int:
    while (quote := text.find(b'"', position)) >= 0:
        position = quote + 1
        if not _is_escaped(text, quote):
            return position
    return len(text)


def _is_escaped(text: bytes, position: int) -> bool:
    first = position
    while text[first - 1] == ord("\\"):
        first -= 1
    return (position - first) % 2 == 1
