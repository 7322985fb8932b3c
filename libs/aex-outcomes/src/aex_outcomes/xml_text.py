"""Text of other people's in XML that an agent reads: one line each, bounded in bytes, whatever it holds."""

from collections.abc import Callable, Sequence

MAX_BYTES = 4_096
"""Of all feedback together."""
_IN_TEXT = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_IN_ATTRIBUTE = {**_IN_TEXT, '"': "&quot;"}


def escaped(text: str, max_bytes: int) -> str:
    """The text of an element, in one line: what XML 1.0 cannot hold becomes U+FFFD, line breaks and tabs blanks.

    Quotes stay as they are, for whoever reads it as it stands: in an attribute they would end it.
    """
    return _bounded(text, max_bytes, lambda character: _IN_TEXT.get(character) or _allowed(character))


def attribute(text: str, max_bytes: int) -> str:
    """The same for what stands between an attribute's double quotes."""
    return _bounded(text, max_bytes, lambda character: _IN_ATTRIBUTE.get(character) or _allowed(character))


def one_line(text: str, max_bytes: int) -> str:
    """The same, not escaped: for documents that are no XML."""
    return _bounded(text, max_bytes, _allowed)


def element(opening: str, head: Sequence[str], items: Sequence[str], closing: str) -> str:
    """An element of at most `MAX_BYTES`: its head, as many of the items as fit, and how many did not.

    All lines are escaped already, and without the items they fit.
    """
    lines = [opening, *head]
    rest = "- … and {} more"
    room = MAX_BYTES - len("\n".join([*lines, rest.format(10**6), closing]).encode())
    for position, item in enumerate(items):
        room -= len(item.encode()) + 1
        if room < 0:
            lines.append(rest.format(len(items) - position))
            break
        lines.append(item)
    return "\n".join([*lines, closing])


def _bounded(text: str, max_bytes: int, write: Callable[[str], str]) -> str:
    written: list[str] = []
    room = max_bytes
    for character in text:
        written.append(write(character))
        room -= len(written[-1].encode())
        if room < 0:
            return "".join([*written[:-1], "…"])
    return "".join(written)


def _allowed(character: str) -> str:
    if character in "\t\n\r\x85\u2028\u2029":
        return " "
    code = ord(character)
    held = 0x20 <= code < 0x7F or 0xA0 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code >= 0x10000
    return character if held else "\ufffd"
