"""Lines of a text file, one at a time, so that no file is held whole."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from aex_outcomes.science.limits import DataLimits
from aex_outcomes.science.tables.cells import SEPARATOR
from aex_outcomes.science.tables.errors import DataError

_NEVER = ("\x00", SEPARATOR)


@contextmanager
def lines_of(path: str, limits: DataLimits, code: str) -> Iterator[Iterator[str]]:
    """The lines with their ends. A byte order mark is left out.

    Raises `DataError`: `not_utf8`, `too_large` for an endless line, `code` for a NUL or unit separator.
    """
    with Path(path).open(encoding="utf-8-sig", errors="strict", newline="") as opened:
        yield _bounded(opened.readline, limits, code)


def _bounded(readline: Callable[[int], str], limits: DataLimits, code: str) -> Iterator[str]:
    number = 0
    while True:
        number += 1
        try:
            line = readline(limits.max_line + 1)
        except UnicodeDecodeError:
            raise DataError("not_utf8", f"not UTF-8, at line {number} or soon after: save it as UTF-8") from None
        if not line:
            return
        if len(line) > limits.max_line:
            raise DataError("too_large", f"line {number} is longer than {limits.max_line} characters")
        if any(each in line for each in _NEVER):
            raise DataError(code, f"line {number} holds a byte that no text has (NUL or unit separator)")
        yield line
