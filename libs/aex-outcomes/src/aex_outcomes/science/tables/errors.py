"""What is wrong with raw data, as a code and a sentence that quotes no cell."""

from collections.abc import Iterable

_NAMES, _CHARACTERS = 20, 60


class DataError(Exception):
    """A file that cannot be used, or a statistic that cannot be computed of it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def out_of_memory() -> DataError:
    """The error of data that need more memory than an examination has."""
    return DataError(
        "out_of_memory", "reading the data took more memory than there is for it; give fewer rows or columns"
    )


def quoted(name: str) -> str:
    """A name of somebody's choice, in a message: short and on one line."""
    printable = "".join(letter if letter.isprintable() else "?" for letter in name[: _CHARACTERS + 1])
    return f'"{printable[:_CHARACTERS]}…"' if len(printable) > _CHARACTERS else f'"{printable}"'


def listed(names: Iterable[str]) -> str:
    """The first twenty names, and how many more there are."""
    every = list(names)
    more = f" and {len(every) - _NAMES} more" if len(every) > _NAMES else ""
    return ", ".join(map(quoted, every[:_NAMES])) + more
