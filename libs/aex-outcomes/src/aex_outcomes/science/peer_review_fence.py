"""Fence around untrusted text in a prompt: cleaned, bounded, and unable to end its own fence."""

import re
from collections.abc import Iterable

EMPTY = "(none)"
_UNSAFE = re.compile("[^\n\t\x20-\x7e\xa0-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\ufffd\U00010000-\U000dffff]")
"""Control characters, halves of surrogate pairs, directional overrides, invisible tags: a model may read structure."""


class Fence:
    """Pair of lines with a nonce, which the text between them does not contain."""

    def __init__(self, nonce: str) -> None:
        """Keep the random nonce, unknown to the text's author. Raises `ValueError` for a short one."""
        if len(nonce) < 16 or not (nonce.isascii() and nonce.isalnum()):
            raise ValueError("A nonce has at least 16 letters and digits")
        self.nonce = nonce
        self._nonce_pattern = re.compile(re.escape(nonce), re.IGNORECASE)

    def enclose(self, label: str, text: str, max_chars: int) -> str:
        """Return the fenced text; `(none)` for a blank text. Without the fence it has at most `max_chars`."""
        cleaned = self._clean(truncate(text, max_chars))
        if not cleaned.strip():
            return EMPTY
        return f"<<<DATA {self.nonce} {label}>>>\n{cleaned}\n<<<END {self.nonce}>>>"

    def enclose_lines(self, label: str, lines: Iterable[str], max_chars: int) -> str:
        """Fence lines, each on one line: as many as fit in `max_chars`, and the number of omitted ones."""
        included: list[str] = []
        left = max_chars
        remaining = iter(lines)
        for line in remaining:
            one = " ".join(self._clean(truncate(line, max_chars // 4)).split())
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


def truncate(text: str, max_chars: int) -> str:
    """Keep about `max_chars` characters: beginning, end, and a mark with the number of omitted ones."""
    if len(text) <= max_chars:
        return text
    head, tail = max_chars * 2 // 3, max_chars - max_chars * 2 // 3
    omitted = len(text) - head - tail
    return f"{text[:head]}\n[… {omitted:,} characters left out here …]\n{text[len(text) - tail :]}"
