"""Whether a document shows what was printed."""

import re

GAP = "…"
"""Stands for anything within a line; alone on a line for any number of lines."""


def is_shown(printed: str, shown: str) -> bool:
    """Whether `shown` is `printed`, but for what its gaps leave out."""
    return re.fullmatch("".join(map(_line, shown.splitlines())), _ended(printed)) is not None


def _line(line: str) -> str:
    if line.strip() == GAP:
        return r"(?:[^\n]*\n)*"
    return r"[^\n]*".join(re.escape(part) for part in line.split(GAP)) + r"\n"


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
