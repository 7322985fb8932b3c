"""Job of a confined worker that runs one untrusted query on a locked database in memory."""

import json
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb

from aex_outcomes.kernels.sql_cells import encode_cell
from aex_outcomes.kernels.sql_types import ColumnType, parse_column_type, quote_identifier
from aex_outcomes.sandbox.query_port import MAX_ROWS, QUERY_SECONDS, QueryFailed, QueryFault
from aex_outcomes.science.confined import DataLimits
from aex_outcomes.science.tables.database import Deadline, LockedDatabase, SelectedRows, open_locked_database
from aex_outcomes.science.tables.file_checks import DataError

MAX_RESULT_BYTES = 16 * 1024 * 1024
"""Maximum bytes of the rows as JSON."""
_DATABASE_MB = 384
_MAX_DETAIL = 500
_GRACE_SECONDS = 1.5
_FAULTS: Sequence[tuple[QueryFault, tuple[type[Exception], ...]]] = (
    (QueryFault.OUT_OF_MEMORY, (duckdb.OutOfMemoryException, MemoryError)),
    (QueryFault.SYNTAX, (duckdb.ParserException, duckdb.SyntaxException)),
    (QueryFault.UNKNOWN_NAME, (duckdb.BinderException, duckdb.CatalogException)),
    (QueryFault.FORBIDDEN, (duckdb.PermissionException, duckdb.IOException)),
    (QueryFault.DATA, (duckdb.DataError, duckdb.InvalidInputException)),
)
"""Faults by the exceptions of the database; the first that fits counts."""
_NO_MEMORY = ("bad_alloc", "bad allocation", "Allocation failure", "can't start new thread")


def run_query(payload: dict[str, Any]) -> dict[str, Any]:
    """Create the tables and run the query.

    `payload`: `query`, and `tables` (each `{name, columns, rows}`, as `QueryTable`). Returns `{"columns": [name, …],
    "rows": …}`, where `rows` is the JSON text of encoded cells, or `{"fault": …, "detail": …}`.
    """
    try:
        found = _run(payload["query"], payload["tables"])
        rows = json.dumps([[encode_cell(cell) for cell in row] for row in found.rows], separators=(",", ":"))
        if len(rows) > MAX_RESULT_BYTES:
            raise QueryFailed(QueryFault.TOO_LARGE)  # noqa: TRY301 one way out for all
        return {"columns": list(found.columns), "rows": rows}
    except QueryFailed as error:
        detail = error.detail.encode("utf-8", "replace").decode()
        return {"fault": error.fault.value, "detail": detail[:_MAX_DETAIL]}


def _run(query: str, tables: Sequence[Mapping[str, Any]]) -> SelectedRows:
    deadline = Deadline(QUERY_SECONDS, with_idle_time=True)
    try:
        statements = duckdb.extract_statements(query)
    except duckdb.Error as error:
        raise _to_query_failure(error) from None
    if [each.type for each in statements] != [duckdb.StatementType.SELECT]:
        raise QueryFailed(QueryFault.NOT_ONE_SELECT)
    with open_locked_database((), DataLimits(memory_mb=_DATABASE_MB), deadline) as database:
        try:
            for table in tables:
                _create_table(database, table["name"], table["columns"], table["rows"])
        except (duckdb.Error, DataError, MemoryError, ValueError) as error:
            raise QueryFailed(QueryFault.TABLES, str(error)) from None
        try:
            # Some functions ignore the deadline's interrupt.
            with deadline.count_time(), _end_process_after(QUERY_SECONDS + _GRACE_SECONDS):
                found = database.select_rows(statements[0], MAX_ROWS + 1)
        except (duckdb.Error, MemoryError, RuntimeError) as error:
            raise _to_query_failure(error) from None
        except DataError:
            raise QueryFailed(QueryFault.TIMED_OUT) from None
    if len(found.rows) > MAX_ROWS:
        raise QueryFailed(QueryFault.TOO_MANY_ROWS)
    return found


@contextmanager
def _end_process_after(cpu_seconds: float) -> Iterator[None]:
    """End this process by SIGPROF if the block takes more processor time."""
    signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _create_table(
    database: LockedDatabase, name: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]
) -> None:
    """Create a table and fill it by one statement with a parameter for each column."""
    types = [_parse_type(each) for each in columns.values()]
    listed = ", ".join(f"{quote_identifier(each)} {kind.sql}" for each, kind in zip(columns, types, strict=True))
    database.fetch_rows(f"CREATE TABLE {quote_identifier(name)} ({listed})")
    if not rows:
        return
    values = [_to_parameter(kind, [row[at] for row in rows]) for at, kind in enumerate(types)]
    selected = ", ".join(_select_parameter(kind, at) for at, kind in enumerate(types, 1))
    database.fetch_rows(f"INSERT INTO {quote_identifier(name)} SELECT {selected}", values)


def _parse_type(text: str) -> ColumnType:
    parsed = parse_column_type(text)
    if parsed is None:
        raise ValueError("an unknown type")
    return parsed


def _to_parameter(kind: ColumnType, cells: Sequence[Any]) -> Any:
    converted = [None if cell is None else kind.convert(cell) for cell in cells]
    return json.dumps(converted) if kind.is_nested else converted


def _select_parameter(kind: ColumnType, position: int) -> str:
    if kind.is_nested:
        structure = json.dumps([kind.structure]).replace("'", "''")
        return f"unnest(CAST(from_json_strict(CAST(${position} AS JSON), '{structure}') AS {kind.sql}[]))"
    return f"unnest(CAST(${position} AS {kind.sql}[]))"


def _to_query_failure(error: Exception) -> QueryFailed:
    text = str(error)
    if any(each in text for each in _NO_MEMORY):
        return QueryFailed(QueryFault.OUT_OF_MEMORY)
    fault = next((fault for fault, kinds in _FAULTS if isinstance(error, kinds)), QueryFault.OTHER)
    return QueryFailed(fault, text)
