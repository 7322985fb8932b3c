"""Fence around untrusted text in a prompt: two marked lines that the text between them cannot imitate."""

import re
from collections.abc import Iterable

EMPTY = "(none)"
_UNSAFE = re.compile("[^\n\t\x20-\x7e\xa0-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\ufffd\U00010000-\U000dffff]")
"""Control characters, halves of surrogate pairs, directional overrides, invisible tags: they could mislead a model."""


class Fence:
    """Fence of two lines with a random nonce, which is removed from the enclosed text."""

    def __init__(self, nonce: str) -> None:
        """Keep the nonce: random letters and digits that the text's author cannot know.

        Raises `ValueError` for fewer than 16 characters.
        """
        if len(nonce) < 16 or not (nonce.isascii() and nonce.isalnum()):
            raise ValueError("A nonce has at least 16 letters and digits")
        self.nonce = nonce
        self._nonce_pattern = re.compile(re.escape(nonce), re.IGNORECASE)

    def enclose(self, label: str, text: str, cut_at_chars: int) -> str:
        """Return the text between the fence's lines, cut in its middle to `cut_at_chars` and cleaned.

        Unsafe characters become U+FFFD. A blank text gives `(none)` without a fence.
        """
        cleaned = self._clean(truncate_middle(text, cut_at_chars))
        if not cleaned.strip():
            return EMPTY
        return f"<<<DATA {self.nonce} {label}>>>\n{cleaned}\n<<<END {self.nonce}>>>"

    def enclose_lines(self, label: str, lines: Iterable[str], cut_at_chars: int) -> str:
        """Return as many lines as fit in `cut_at_chars`, fenced, with a mark that counts the omitted lines.

        Line breaks within a line become blanks. A line is cut to a quarter of `cut_at_chars`.
        """
        included: list[str] = []
        left = cut_at_chars
        remaining = iter(lines)
        for line in remaining:
            one = " ".join(self._clean(truncate_middle(line, cut_at_chars // 4)).split())
            left -= len(one) + 1
            if left < 0:
                included.append(f"[… {1 + sum(1 for _ in remaining):,} more left out here …]")
                break
            included.append(one)
        text = "\n".join(included)
        return self.enclose(label, text, len(text))

    def _clean(self, text: str) -> str:
        plain = _UNSAFE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
        return self._nonce_pattern.sub("\N{FULL BLOCK}", plain)


def truncate_middle(text: str, cut_at_chars: int) -> str:
    """Replace the middle of a text longer than `cut_at_chars` by a mark that counts what is omitted.

    Two thirds of the kept characters are the beginning. The mark comes in addition to `cut_at_chars`.
    """
    if len(text) <= cut_at_chars:
        return text
    head, tail = cut_at_chars * 2 // 3, cut_at_chars - cut_at_chars * 2 // 3
    omitted = len(text) - head - tail
    return f"{text[:head]}\n[… {omitted:,} characters left out here …]\n{text[len(text) - tail :]}"
