"""Codes for the values of columns with few values: one byte per row, by which rows are grouped.

Codes are assigned while a file is read, because a second pass over millions of rows would exceed the time limit.
"""

import re
from collections.abc import Mapping, Sequence

from aex_models.statistics import BLANKS, MISSING_WORDS
from aex_outcomes.science.tables.cells import NESTED_MARK, NOT_FINITE_WORDS, TEXT_MARK, GroupColumn

MAX_CANDIDATES = 100
"""Maximum columns of a file, from the left, that are encoded."""
MAX_VALUES = 90
"""Maximum different cells of a column; the code of each is a printable ASCII character."""
MAX_LENGTH = 100
"""Maximum characters of a value."""
MAX_DIGITS = 15
"""Maximum characters of an integer."""
FIRST_CODE = 33
_INTEGER = re.compile(rf"[+-]?[0-9]{{1,{MAX_DIGITS}}}(\.0*)?")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


class GroupEncoder:
    """Encoder of the first columns of a text file; a column with too many values is dropped while reading."""

    def __init__(self, names: Sequence[str], *, has_marks: bool = False) -> None:
        """Start with the names of all columns. `has_marks`: the cells use `TEXT_MARK` and `NESTED_MARK`."""
        self.names = tuple(names[:MAX_CANDIDATES])
        self._has_marks = has_marks
        self._codes: list[dict[str, str] | None] = [{} for _ in self.names]

    def encode_batch(self, columns: Sequence[Sequence[str]]) -> list[str | None]:
        """Return a string with a code for each row of the batch, by column; None for a dropped column."""
        return [self._encode(index, cells) for index, cells in enumerate(columns)]

    def _encode(self, index: int, cells: Sequence[str]) -> str | None:
        codes = self._codes[index]
        if codes is None:
            return None
        for cell in set(cells) - codes.keys():
            if len(codes) == MAX_VALUES or len(cell) > MAX_LENGTH or (self._has_marks and cell == NESTED_MARK):
                self._codes[index] = None
                return None
            codes[cell] = chr(FIRST_CODE + len(codes))
        return "".join(map(codes.__getitem__, cells))

    def build_group_columns(self) -> dict[str, GroupColumn]:
        """Return the encoded columns of integers or texts, by name, with the value of each code."""
        found = {}
        for index, (name, codes) in enumerate(zip(self.names, self._codes, strict=True)):
            cells = {ord(code): cell for cell, code in (codes or {}).items()}
            values = _values(cells, has_marks=self._has_marks)
            if values:
                found[name] = build_group_column(index, values)
        return found


def build_group_column(index: int, values: Mapping[int, int | str]) -> GroupColumn:
    """Return the column of groups with these values by code.

    Of several codes with one value the first stands for it.
    """
    code_of: dict[int | str, int] = {}
    for code, value in values.items():
        code_of.setdefault(value, code)
    others = {code: code_of[value] for code, value in values.items() if code != code_of[value]}
    return GroupColumn(index, {code: value for value, code in code_of.items()}, others)


def parse_integers_by_code(cells: Mapping[int, str]) -> dict[int, int]:
    """Return the integer of each code, without NaN and infinities; empty if a cell is anything else.

    `1.0` is an integer.
    """
    numbers = {code: cell for code, cell in cells.items() if cell.lower() not in NOT_FINITE_WORDS}
    if not all(_INTEGER.fullmatch(cell) for cell in numbers.values()):
        return {}
    return {code: int(cell.partition(".")[0]) for code, cell in numbers.items()}


def _values(cells: Mapping[int, str], *, has_marks: bool) -> Mapping[int, int | str]:
    """Return the value of each code if the column has only integers or texts, else nothing.

    Codes of one value in several spellings, such as `1` and `1.0`, have the same value.
    """
    bare = {code: cell.strip(BLANKS) for code, cell in cells.items()}
    present = {code: cell for code, cell in bare.items() if cell not in MISSING_WORDS}
    if any(_is_text(cell, has_marks) for cell in present.values()):
        return {code: cell[1:] if has_marks and cell.startswith(TEXT_MARK) else cell for code, cell in present.items()}
    return parse_integers_by_code(present)


def _is_text(cell: str, has_marks: bool) -> bool:
    if has_marks:
        return cell.startswith(TEXT_MARK)
    return not _NUMBER.fullmatch(cell) and cell.lower() not in NOT_FINITE_WORDS
