"""Filters as SQL: rows that match, and rows whose cells make a filter undecidable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aex_models.numbers import is_number
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
    """An SQL expression and its parameters."""

    sql: str
    values: tuple[Any, ...] = ()

    def __and__(self, other: "Condition") -> "Condition":
        return Condition(f"({self.sql}) AND ({other.sql})", (*self.values, *other.values))


EVERY_ROW = Condition("true")


def reads_numbers(each: Filter) -> bool:
    """Return True for a filter that compares numbers, not texts or booleans."""
    return all(map(is_number, _operands(each)))


def matching_rows(filters: Sequence[Filter], columns: Mapping[str, DataColumn]) -> Condition:
    """Select rows in which every filter holds. A missing cell meets none."""
    found = EVERY_ROW
    for each in filters:
        found = found & _matching(each, columns[each.column])
    return found


def undecided_rows(
    filters: Sequence[Filter], name: str, columns: Mapping[str, DataColumn], *, numbers: bool
) -> Condition:
    """Select rows whose cell of this column is present and incomparable, as a number or else as a text.

    Rows that another filter excludes are left out.
    """
    found = Condition(f"{columns[name].kind} {_undecidable_states(numbers)}")
    for each in filters:
        if each.column != name or (numbers and not reads_numbers(each)):
            met, column = _matching(each, columns[each.column]), columns[each.column]
            possible = f"({met.sql}) OR {column.kind} {_undecidable_states(reads_numbers(each))}"
            found = found & Condition(possible, met.values)
    return found


def _undecidable_states(numbers: bool) -> str:
    return f"NOT IN ({MISSING}, {NUMBER})" if numbers else f"= {UNREADABLE}"


def _matching(each: Filter, column: DataColumn) -> Condition:
    if reads_numbers(each):
        cell = f"abs({column.number})" if each.abs else column.number
        return Condition(f"{column.kind} = {NUMBER}") & _comparison(
            cell, each.op, [_to_column_number(value, column) for value in _operands(each)]
        )
    worded = [str(value).lower() if isinstance(value, bool) else value for value in _operands(each)]
    boolean = any(isinstance(value, bool) for value in _operands(each))
    cell = f"coalesce({column.text}, '')"
    compared = _comparison(f"lower({cell})" if boolean else cell, each.op, worded)
    return Condition(f"{column.kind} <> {MISSING}") & compared


def _comparison(cell: str, op: FilterOp, values: Sequence[Any]) -> Condition:
    if op is FilterOp.IN:
        return Condition(f"{cell} IN ({', '.join('?' * len(values))})", tuple(values))
    return Condition(f"{cell} {_SIGNS[op]} ?", tuple(values))


def _operands(each: Filter) -> Sequence[Any]:
    return each.value if each.op is FilterOp.IN else [each.value]


def _to_column_number(value: float, column: DataColumn) -> float | int:
    """Return an integer for a column of integers: a double would round the column's own values."""
    if column.is_integer and float(value).is_integer() and abs(value) < _LARGEST_INTEGER:
        return int(value)
    return float(value)
