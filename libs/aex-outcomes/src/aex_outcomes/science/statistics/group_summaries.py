# ruff: noqa: S608 SQL is put together from words of this package; names and values are parameters
"""Summaries of columns of numbers by the groups of another column."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aex_outcomes.science.mixed import Group, GroupValue, select_comparable_groups
from aex_outcomes.science.tables.cells import DataTable, GroupColumn

_MAX_EXPONENT = 1000
"""Largest exponent to scale by: 2^1000 is a double."""


@dataclass(frozen=True, slots=True)
class _Measured:
    """Column of numbers with its comparable groups; 2^`exponent` scales its numbers to at most 1."""

    number: str
    groups: tuple[GroupValue, ...]
    exponent: int


def summarize_groups(
    table: DataTable, measured_columns: Sequence[str], group_column: GroupColumn
) -> dict[str, tuple[Group, ...]]:
    """Summarise the numbers of each measured column by groups; omit columns without comparable groups.

    Means and deviations are computed in doubles, because no claim is compared with them.
    """
    found = _find_large_groups(table, measured_columns, group_column)
    if not found:
        return {}
    scaled = ", ".join(f"CAST({each.number} AS DOUBLE) * ?::DOUBLE AS x{at}" for at, each in enumerate(found.values()))
    figures = ", ".join(f"count(x{at}), avg(x{at}), median(x{at}), stddev_samp(x{at})" for at in range(len(found)))
    rows = table.database.fetch_rows(
        f"SELECT g, {figures} FROM (SELECT {group_column.code_sql} AS g, {scaled} FROM cells) GROUP BY g",
        [math.ldexp(1.0, -each.exponent) for each in found.values()],
    )
    summaries: dict[str, list[Group]] = {name: [] for name in found}
    by_code = {code: figures for code, *figures in rows}
    for value, code in sorted((value, code) for code, value in group_column.values.items()):
        for at, (name, each) in enumerate(found.items()):
            if value in each.groups:
                n, *scaled_figures = by_code[code][4 * at : 4 * at + 4]
                summaries[name].append(Group(value, n, *(math.ldexp(x, each.exponent) for x in scaled_figures)))
    return {name: tuple(groups) for name, groups in summaries.items()}


def _find_large_groups(table: DataTable, measured: Sequence[str], column: GroupColumn) -> dict[str, _Measured]:
    numbers = {name: table.columns[name].number_sql for name in measured}
    figures = ", ".join(f"count({each}), max(abs(CAST({each} AS DOUBLE)))" for each in numbers.values())
    rows = table.database.fetch_rows(f"SELECT {column.code_sql}, {figures} FROM cells GROUP BY 1")
    found = {}
    for at, (name, number) in enumerate(numbers.items()):
        sizes = {code: counts[2 * at] for code, *counts in rows}
        by_value: Mapping[GroupValue, int] = {value: sizes[code] for code, value in column.values.items()}
        groups = select_comparable_groups(by_value, sum(sizes.values()))
        if groups:
            largest = max(counts[2 * at + 1] or 0.0 for _, *counts in rows)
            exponent = max(-_MAX_EXPONENT, min(_MAX_EXPONENT, math.frexp(largest)[1]))
            found[name] = _Measured(number, groups, exponent)
    return found
