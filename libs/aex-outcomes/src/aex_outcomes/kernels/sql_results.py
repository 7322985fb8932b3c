"""Comparison of the results of two queries, in any order of rows or in theirs.

A cell is None, a bool, int, Decimal, float, str, bytes, datetime, time, a list, or a dict with text keys. A date is a
datetime at midnight, and a datetime has no time zone. In a column with a float on either side all numbers are compared
as floats; elsewhere numbers are compared exactly.
"""

import math
import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

Row = Sequence[Any]
_GREATEST = sys.float_info.max
_FLOAT: Hashable = ("float",)
"""Placeholder of a finite float in a row's exact part."""


@dataclass(frozen=True, slots=True)
class ComparableRow:
    """A row in two parts."""

    exact: Hashable
    """Cells that are compared exactly, with placeholders for floats."""
    floats: tuple[float, ...]
    """Finite floats in the order of their placeholders."""


def match_results(actual: Sequence[Row], expected: Sequence[Row], *, ordered: bool, float_tol: float) -> bool:
    """Return True if the results have the same rows.

    `ordered`: rows must be in the same order; else equal rows may be anywhere, as often on both sides. `float_tol`:
    largest difference of floats, absolute and relative. NULL equals NULL, and NaN equals NaN.
    """
    if len(actual) != len(expected) or {len(row) for row in actual} != {len(row) for row in expected}:
        return False
    columns = zip(zip(*actual, strict=True), zip(*expected, strict=True), strict=True)
    has_floats = [any(map(_contains_float, [*own, *other])) for own, other in columns]
    own_rows = [_split_row(row, has_floats) for row in actual]
    other_rows = [_split_row(row, has_floats) for row in expected]
    if ordered:
        pairs = zip(own_rows, other_rows, strict=True)
        return all(own.exact == other.exact and _are_close(own.floats, other.floats, float_tol) for own, other in pairs)
    own_groups, other_groups = _group(own_rows), _group(other_rows)
    if own_groups.keys() != other_groups.keys():
        return False
    return all(_match_floats(own, other_groups[exact], float_tol) for exact, own in own_groups.items())


def _contains_float(cell: Any) -> bool:
    if isinstance(cell, list):
        return any(map(_contains_float, cell))
    if isinstance(cell, Mapping):
        return any(map(_contains_float, cell.values()))
    return isinstance(cell, float)


def _split_row(row: Row, has_floats: Sequence[bool]) -> ComparableRow:
    floats: list[float] = []
    exact = tuple(
        _take_exact(cell, floats if is_float else None) for cell, is_float in zip(row, has_floats, strict=True)
    )
    return ComparableRow(exact, tuple(floats))


def _take_exact(cell: Any, floats: list[float] | None) -> Hashable:
    """Return the exact part of a cell, and append its floats to `floats`; None compares numbers exactly."""
    if isinstance(cell, list):
        return ("list", *(_take_exact(each, floats) for each in cell))
    if isinstance(cell, Mapping):
        return ("struct", *((key, _take_exact(cell[key], floats)) for key in sorted(cell)))
    if isinstance(cell, bool) or not isinstance(cell, int | float | Decimal):
        return (type(cell).__name__, cell)  # True is not 1, and b"a" is not "a"
    if isinstance(cell, float) and math.isnan(cell):
        return ("number", "NaN")  # NaN itself equals nothing
    if floats is None or not -_GREATEST <= cell <= _GREATEST:
        return ("number", cell)
    number = float(cell)
    floats.append(number)
    return _FLOAT


def _are_close(own: Iterable[float], other: Iterable[float], float_tol: float) -> bool:
    pairs = zip(own, other, strict=True)
    return all(math.isclose(left, right, rel_tol=float_tol, abs_tol=float_tol) for left, right in pairs)


def _group(rows: Iterable[ComparableRow]) -> dict[Hashable, list[tuple[float, ...]]]:
    """Return the floats of the rows by their exact parts."""
    groups: dict[Hashable, list[tuple[float, ...]]] = {}
    for row in rows:
        groups.setdefault(row.exact, []).append(row.floats)
    return groups


def _match_floats(own: Sequence[tuple[float, ...]], other: Sequence[tuple[float, ...]], float_tol: float) -> bool:
    """Return True if rows with the same exact part can be paired so that all floats are close.

    Rows are sorted, and compared in pairs. Close values have the same rank: rows that almost agree in one column are
    then sorted by the next one.
    """
    if len(own) != len(other):
        return False
    if not own or not own[0]:
        return True
    by_column = [_rank([row[at] for row in (*own, *other)], float_tol) for at in range(len(own[0]))]

    def sort(rows: Sequence[tuple[float, ...]]) -> list[tuple[float, ...]]:
        return sorted(rows, key=lambda row: ([by_column[at][value] for at, value in enumerate(row)], row))

    return all(_are_close(left, right, float_tol) for left, right in zip(sort(own), sort(other), strict=True))


def _rank(values: Iterable[float], float_tol: float) -> dict[float, int]:
    """Return a rank of each value: the next value has the same rank if it is close."""
    ranks: dict[float, int] = {}
    rank, previous = 0, None
    for value in sorted(set(values)):
        if previous is not None and not math.isclose(previous, value, rel_tol=float_tol, abs_tol=float_tol):
            rank += 1
        ranks[value], previous = rank, value
    return ranks
