"""Comparison of a documented output with the printed one."""

import re

GAP = "…"
"""Stands for anything within a line; alone on a line for any number of lines."""


def matches_output(printed: str, documented: str) -> bool:
    """Return whether `documented` equals `printed` apart from its gaps."""
    return re.fullmatch("".join(map(_line, documented.splitlines())), _ended(printed)) is not None


def _line(line: str) -> str:
    if line.strip() == GAP:
        return r"(?:[^\n]*\n)*"
    return r"[^\n]*".join(re.escape(part) for part in line.split(GAP)) + r"\n"


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
