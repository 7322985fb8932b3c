"""Filters as SQL: which rows all conditions keep, and which cells keep somebody from telling."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aex_models.numbers import is_number
from aex_models.statistics import Filter, FilterOp
from aex_outcomes.science.tables.cells import MISSING, NUMBER, UNREADABLE
from aex_outcomes.science.tables.table import Column

_SIGNS = {
    FilterOp.GT: ">",
    FilterOp.GTE: ">=",
    FilterOp.LT: "<",
    FilterOp.LTE: "<=",
    FilterOp.EQ: "=",
    FilterOp.NEQ: "<>",
}
_LARGEST_WHOLE = 2**126


@dataclass(frozen=True, slots=True)
class Condition:
    """An SQL expression and its parameters."""

    sql: str
    values: tuple[Any, ...] = ()

    def __and__(self, other: "Condition") -> "Condition":
        return Condition(f"({self.sql}) AND ({other.sql})", (*self.values, *other.values))


EVERY_ROW = Condition("true")


def reads_numbers(each: Filter) -> bool:
    """Whether the filter compares numbers, and not texts or booleans."""
    return all(map(is_number, _operands(each)))


def kept(filters: Sequence[Filter], columns: Mapping[str, Column]) -> Condition:
    """Rows in which every condition holds. A cell without a value meets none."""
    found = EVERY_ROW
    for each in filters:
        found = found & _met(each, columns[each.column])
    return found


def undecided(filters: Sequence[Filter], name: str, columns: Mapping[str, Column]) -> Condition:
    """Rows whose cell of this column is there and no finite number, though a condition compares it as one.

    Not those that another condition rules out anyway.
    """
    cell = columns[name]
    found = Condition(f"{cell.kind} NOT IN ({MISSING}, {NUMBER})")
    for each in filters:
        if each.column != name or not reads_numbers(each):
            found = found & _perhaps_met(each, columns[each.column])
    return found


def unreadable(filters: Sequence[Filter], name: str, columns: Mapping[str, Column]) -> Condition:
    """Rows that may be kept although nothing can be compared with this column's cell, not even a text."""
    found = Condition(f"{columns[name].kind} = {UNREADABLE}")
    for each in filters:
        if each.column != name:
            found = found & _perhaps_met(each, columns[each.column])
    return found


def _met(each: Filter, column: Column) -> Condition:
    if reads_numbers(each):
        cell = f"abs({column.number})" if each.abs else column.number
        return Condition(f"{column.kind} = {NUMBER}") & _compared(
            cell, each.op, [_number(value, column) for value in _operands(each)]
        )
    worded = [str(value).lower() if isinstance(value, bool) else value for value in _operands(each)]
    boolean = any(isinstance(value, bool) for value in _operands(each))
    cell = f"coalesce({column.text}, '')"
    compared = _compared(f"lower({cell})" if boolean else cell, each.op, worded)
    return Condition(f"{column.kind} <> {MISSING}") & compared


def _perhaps_met(each: Filter, column: Column) -> Condition:
    """That the condition holds, or that its own cell does not tell."""
    met = _met(each, column)
    untold = f"NOT IN ({MISSING}, {NUMBER})" if reads_numbers(each) else f"= {UNREADABLE}"
    return Condition(f"({met.sql}) OR {column.kind} {untold}", met.values)


def _compared(cell: str, op: FilterOp, values: Sequence[Any]) -> Condition:
    if op is FilterOp.IN:
        return Condition(f"{cell} IN ({', '.join('?' * len(values))})", tuple(values))
    return Condition(f"{cell} {_SIGNS[op]} ?", tuple(values))


def _operands(each: Filter) -> Sequence[Any]:
    return each.value if each.op is FilterOp.IN else [each.value]


def _number(value: float, column: Column) -> float | int:
    """A whole number for a column of those: beside a double the column's own values would be rounded."""
    if column.whole and float(value).is_integer() and abs(value) < _LARGEST_WHOLE:
        return int(value)
    return float(value)
