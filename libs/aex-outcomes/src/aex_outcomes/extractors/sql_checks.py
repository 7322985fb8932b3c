"""Checks of the evaluation data `sql` at submission: names, types, values and the shape of rows.

No database is used. The trial of the expected query finds further problems.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from aex_models.work import Problem
from aex_outcomes.json_values import join_pointer
from aex_outcomes.kernels.sql_types import ColumnType, parse_column_type

MAX_TABLE_ROWS = 100_000
"""Maximum rows of all tables together."""
_MAX_PROBLEMS = 100
"""Maximum reported problems of one task: each wrong cell is one."""
_IGNORED = re.compile(
    r"""--[^\n]* | /\*.*?\*/ | (?:\b[eE])'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | \$(\w*)\$.*?\$\1\$""",
    re.DOTALL | re.VERBOSE,
)
_IDENTIFIERS = re.compile(r'"(?:[^"]|"")*"')
_FIRST_WORD = re.compile(r"[\s(]*(\w+)")
_OPENINGS = frozenset(
    ["SELECT", "WITH", "FROM", "VALUES", "TABLE", "DESCRIBE", "DESC", "SHOW", "SUMMARIZE", "UNPIVOT", "PIVOT"]
)


def check_sql_task(task: Any) -> Iterator[Problem]:
    """Yield the problems of a task whose shape may be wrong; problems of shape are reported elsewhere."""
    if isinstance(task, Mapping):
        yield from islice(_list_problems(task), _MAX_PROBLEMS)


def _list_problems(task: Mapping[str, Any]) -> Iterator[Problem]:
    tables = task.get("tables")
    if isinstance(tables, Mapping):
        yield from _check_names(tables, "/sql/tables", "table")
        count = sum(len(_rows(table)) for table in tables.values() if isinstance(table, Mapping))
        if count > MAX_TABLE_ROWS:
            message = f"The tables may have {MAX_TABLE_ROWS} rows in all; these have {count}"
            yield Problem(path="/sql/tables", code="too_many_rows", message=message)
    expected = task.get("expected")
    if isinstance(expected, Mapping):
        yield from _check_expected(expected, has_names=task.get("names") is True)
    for name, table in tables.items() if isinstance(tables, Mapping) else ():
        if isinstance(table, Mapping) and isinstance(table.get("columns"), Mapping):
            columns = _order_columns(table["columns"], table.get("column_order"))
            yield from _check_table(join_pointer("sql", "tables", name), columns, _rows(table))


def _rows(mapping: Mapping[str, Any]) -> Sequence[Any]:
    rows = mapping.get("rows")
    return rows if isinstance(rows, list | tuple) else ()


def _order_columns(columns: Mapping[Any, Any], order: Any) -> Mapping[Any, Any]:
    """Return the columns in the order of the values of a row; the model reports a wrong order."""
    is_complete = isinstance(order, list | tuple) and {*map(str, order)} == {*map(str, columns)}
    return {name: columns[name] for name in order} if is_complete and len(order) == len(columns) else columns


def _check_names(names: Mapping[Any, Any], path: str, kind: str) -> Iterator[Problem]:
    """Yield a problem for each name that repeats another, or that SQL cannot quote."""
    first_of: dict[str, str] = {}
    for name in names:
        if not isinstance(name, str):
            continue
        if not name.isprintable():
            message = f"The name of a {kind} has characters that cannot be printed"
            yield Problem(path=f"{path}{join_pointer(name)}", code="invalid_name", message=message)
        if first_of.setdefault(name.casefold(), name) != name:
            message = f"This {kind} repeats another: SQL ignores the case of names"
            yield Problem(path=f"{path}{join_pointer(name)}", code="duplicate_name", message=message)


def _check_table(path: str, columns: Mapping[Any, Any], rows: Sequence[Any]) -> Iterator[Problem]:
    yield from _check_names(columns, f"{path}/columns", "column")
    types: list[ColumnType | None] = []
    for name, text in columns.items():
        types.append(parse_column_type(text) if isinstance(text, str) else None)
        if isinstance(text, str) and types[-1] is None:
            message = "This is no type of a column; INTEGER, DOUBLE, DECIMAL(10,2), VARCHAR, DATE and others are"
            yield Problem(path=f"{path}/columns{join_pointer(name)}", code="unknown_type", message=message)
    for position, row in enumerate(rows):
        if not isinstance(row, list | tuple):
            continue
        if len(row) != len(types):
            message = f"The row has {len(row)} values; the table has {len(types)} columns"
            yield Problem(path=f"{path}/rows/{position}", code="row_length", message=message)
            continue
        for at, (cell, kind) in enumerate(zip(row, types, strict=True)):
            if cell is not None and kind is not None and not _fits(kind, cell):
                message = f"The value does not fit the type {kind.sql[:200]}"
                yield Problem(path=f"{path}/rows/{position}/{at}", code="wrong_value", message=message)


def _fits(kind: ColumnType, cell: Any) -> bool:
    try:
        kind.convert(cell)
    except (ValueError, OverflowError):
        return False
    return True


def _check_expected(expected: Mapping[str, Any], *, has_names: bool) -> Iterator[Problem]:
    query, columns, rows = expected.get("query"), expected.get("columns"), _rows(expected)
    if isinstance(query, str) and query and not _may_be_one_select(query):
        message = "The expected query is not exactly one SELECT statement"
        yield Problem(path="/sql/expected/query", code="not_one_select", message=message)
    if has_names and query is None and not columns:
        message = "Names of columns count (`names`), but the expected result has none"
        yield Problem(path="/sql/expected/columns", code="names_without_columns", message=message)
    lengths = [len(row) if isinstance(row, list | tuple) else None for row in rows]
    width = len(columns) if isinstance(columns, list | tuple) else next(iter(lengths), None)
    for position, length in enumerate(lengths):
        if length is not None and length != width:
            message = f"The row has {length} values; expected are {width}, one for each column"
            yield Problem(path=f"/sql/expected/rows/{position}", code="row_length", message=message)


def _may_be_one_select(sql: str) -> bool:
    """Return False if the text has no statement, several of them, or one that begins as no SELECT does.

    A true result is provisional: `WITH` may introduce an INSERT, and only the database has the complete grammar.
    """
    plain = _IDENTIFIERS.sub(" i ", _IGNORED.sub(" ", sql))
    statements = [each for each in plain.split(";") if each.strip()]
    if len(statements) != 1:
        return False
    first = _FIRST_WORD.match(statements[0])
    return first is not None and first.group(1).upper() in _OPENINGS
