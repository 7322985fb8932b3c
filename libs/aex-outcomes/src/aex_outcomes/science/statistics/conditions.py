"""Filters of a statistic as SQL conditions, for matching rows and for undecidable ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aex_models.numbers import is_finite_number
from aex_models.statistics import Filter, FilterOp
from aex_outcomes.science.tables.cells import MISSING, NUMBER, UNREADABLE, DataColumn

_SIGNS = {
    FilterOp.GT: ">",
    FilterOp.GTE: ">=",
    FilterOp.LT: "<",
    FilterOp.LTE: "<=",
    FilterOp.EQ: "=",
    FilterOp.NEQ: "<>",
}
_LARGEST_INTEGER = 2**126


@dataclass(frozen=True, slots=True)
class Condition:
    """SQL condition on rows, with its parameters; `&` combines two by AND."""

    sql: str
    values: tuple[Any, ...] = ()

    def __and__(self, other: "Condition") -> "Condition":
        return Condition(f"({self.sql}) AND ({other.sql})", (*self.values, *other.values))


EVERY_ROW = Condition("true")


def is_numeric_filter(row_filter: Filter) -> bool:
    """Return True if the filter compares with numbers, False if with texts or booleans."""
    return all(map(is_finite_number, _operands(row_filter)))


def build_match_condition(filters: Sequence[Filter], columns: Mapping[str, DataColumn]) -> Condition:
    """Return a condition for rows in which every filter holds; a missing cell meets no filter."""
    found = EVERY_ROW
    for each in filters:
        found = found & _matching(each, columns[each.column])
    return found


def build_undecidable_condition(
    filters: Sequence[Filter], column_name: str, columns: Mapping[str, DataColumn], *, as_numbers: bool
) -> Condition:
    """Return a condition for rows whose cell of the column is present, but cannot be compared.

    `as_numbers`: the filters compare numbers, so that a text is incomparable; else only a cell without text is. Rows
    that another filter excludes are not selected.
    """
    found = Condition(f"{columns[column_name].kind_sql} {_undecidable_states(as_numbers)}")
    for each in filters:
        if each.column != column_name or (as_numbers and not is_numeric_filter(each)):
            met, column = _matching(each, columns[each.column]), columns[each.column]
            possible = f"({met.sql}) OR {column.kind_sql} {_undecidable_states(is_numeric_filter(each))}"
            found = found & Condition(possible, met.values)
    return found


def _undecidable_states(numbers: bool) -> str:
    return f"NOT IN ({MISSING}, {NUMBER})" if numbers else f"= {UNREADABLE}"


def _matching(each: Filter, column: DataColumn) -> Condition:
    if is_numeric_filter(each):
        cell = f"abs({column.number_sql})" if each.abs else column.number_sql
        return Condition(f"{column.kind_sql} = {NUMBER}") & _comparison(
            cell, each.op, [_to_column_number(value, column) for value in _operands(each)]
        )
    worded = [str(value).lower() if isinstance(value, bool) else value for value in _operands(each)]
    boolean = any(isinstance(value, bool) for value in _operands(each))
    cell = f"coalesce({column.text_sql}, '')"
    compared = _comparison(f"lower({cell})" if boolean else cell, each.op, worded)
    return Condition(f"{column.kind_sql} <> {MISSING}") & compared


def _comparison(cell: str, op: FilterOp, values: Sequence[Any]) -> Condition:
    if op is FilterOp.IN:
        return Condition(f"{cell} IN ({', '.join('?' * len(values))})", tuple(values))
    return Condition(f"{cell} {_SIGNS[op]} ?", tuple(values))


def _operands(each: Filter) -> Sequence[Any]:
    return each.value if each.op is FilterOp.IN else [each.value]


def _to_column_number(value: float, column: DataColumn) -> float | int:
    """Return the operand as an integer for a column of integers, which doubles would round."""
    if column.is_integer and float(value).is_integer() and abs(value) < _LARGEST_INTEGER:
        return int(value)
    return float(value)
