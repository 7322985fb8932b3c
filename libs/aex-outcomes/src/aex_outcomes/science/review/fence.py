"""Other people's text in a prompt: cleaned, bounded, and fenced so that it cannot end its own fence."""

import re
from collections.abc import Iterable

_UNSHOWN = re.compile("[^\n\t\x20-\x7e\xa0-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\ufffd\U00010000-\U000dffff]")
"""What no text needs and a model may read as structure: control characters, halves of surrogate pairs, directional
overrides, invisible tags."""

_INSTEAD_OF_NONCE = "\N{FULL BLOCK}"
NOTHING = "(none)"


class Fence:
    """Puts text between two lines that carry a nonce, which the text itself then does not contain."""

    def __init__(self, nonce: str) -> None:
        """`nonce`: random, and unknown to whoever wrote the text. Raises `ValueError` for a short one."""
        if len(nonce) < 16 or not (nonce.isascii() and nonce.isalnum()):
            raise ValueError("A nonce has at least 16 letters and digits")
        self.nonce = nonce
        self._anyhow = re.compile(re.escape(nonce), re.IGNORECASE)

    def around(self, what: str, text: str, room: int) -> str:
        """The text in its fence, of at most `room` characters (the fence beside them); `(none)` where it is blank."""
        shown = self._cleaned(cut(text, room))
        if not shown.strip():
            return NOTHING
        return f"<<<DATA {self.nonce} {what}>>>\n{shown}\n<<<END {self.nonce}>>>"

    def around_lines(self, what: str, lines: Iterable[str], room: int) -> str:
        """Lines in one fence, each kept on one line: as many as fit in `room` characters, and how many did not."""
        shown: list[str] = []
        left = room
        waiting = iter(lines)
        for line in waiting:
            one = " ".join(self._cleaned(cut(line, room // 4)).split())
            left -= len(one) + 1
            if left < 0:
                shown.append(f"[… {1 + sum(1 for _ in waiting):,} more left out here …]")
                break
            shown.append(one)
        text = "\n".join(shown)
        return self.around(what, text, len(text))

    def _cleaned(self, text: str) -> str:
        plain = _UNSHOWN.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
        return self._anyhow.sub(_INSTEAD_OF_NONCE, plain)


def cut(text: str, room: int) -> str:
    """At most about `room` characters: of a longer text its beginning, its end, and a mark of how much is gone."""
    if len(text) <= room:
        return text
    head, tail = room * 2 // 3, room - room * 2 // 3
    gone = len(text) - head - tail
    return f"{text[:head]}\n[… {gone:,} characters left out here …]\n{text[len(text) - tail :]}"
