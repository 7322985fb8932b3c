"""The job that runs a query, called in this process."""

import json
import time
from typing import Any

import duckdb
import pytest

from aex_outcomes.kernels.sql_cells import decode_cell
from aex_outcomes.sandbox.query_job import run_query
from aex_outcomes.science.confined import DataLimits
from aex_outcomes.science.tables.database import Deadline, open_locked_database
from aex_outcomes.science.tables.file_checks import DataError

TABLE = {"name": "t", "columns": {"a": "INTEGER", "B": "VARCHAR"}, "rows": [[1, "canary"], [None, None]]}


def rows(query: str, *tables: dict[str, Any]) -> list[list[Any]]:
    answer = run_query({"query": query, "tables": list(tables or (TABLE,))})
    assert "fault" not in answer, answer
    return [[decode_cell(cell) for cell in row] for row in json.loads(answer["rows"])]


def fault(query: str, *tables: dict[str, Any]) -> str:
    return str(run_query({"query": query, "tables": list(tables or (TABLE,))})["fault"])


def test_query_reads_the_tables() -> None:
    assert rows("SELECT b, a FROM t ORDER BY a NULLS FIRST") == [[None, None], ["canary", 1]]
    assert run_query({"query": "SELECT a AS X FROM T", "tables": [TABLE]})["columns"] == ["X"]


def test_a_table_without_rows_is_empty() -> None:
    assert rows("SELECT count(*) FROM t", {**TABLE, "rows": []}) == [[0]]


@pytest.mark.parametrize(
    ("kind", "given", "displayed"),
    [
        ("HUGEINT", ["170141183460469231731687303715884105727"], "170141183460469231731687303715884105727"),
        ("DECIMAL(10,2)", [1.1], "1.10"),
        ("DOUBLE", [0.1], "0.1"),
        ("DOUBLE", ["NaN"], "nan"),
        ("FLOAT", ["-Infinity"], "-inf"),
        ("BOOLEAN", [True], "true"),
        ("DATE", ["2024-02-29"], "2024-02-29"),
        ("TIME", ["10:30"], "10:30:00"),
        ("TIMESTAMP", ["2024-02-29T10:00:00.5"], "2024-02-29 10:00:00.5"),
        ("TIMESTAMPTZ", ["2024-02-29T10:00:00+02:00"], "2024-02-29 08:00:00+00"),
        ("UUID", ["12345678-1234-5678-1234-567812345678"], "12345678-1234-5678-1234-567812345678"),
        ("BLOB", ["qrs="], "\\xAA\\xBB"),
        ("INTEGER[]", [[1, None]], "[1, NULL]"),
        ("DOUBLE[]", [["NaN", 1]], "[nan, 1.0]"),
        ("BOOLEAN[]", [[True, False]], "[true, false]"),
        ("DECIMAL(10,2)[]", [[1.1]], "[1.10]"),
        ("STRUCT(a INTEGER, b DATE[])", [{"b": ["2024-02-29"]}], "{'a': NULL, 'b': [2024-02-29]}"),
        ("VARCHAR", ["quote ' and \" and \\ and é"], "quote ' and \" and \\ and é"),
    ],
)
def test_values_are_stored_as_their_type_has_them(kind: str, given: list[Any], displayed: str) -> None:
    table = {"name": "t", "columns": {"a": kind}, "rows": [given, [None]]}
    [[text], [null]] = rows("SELECT CAST(a AS VARCHAR) FROM t", table)
    assert (text, null) == (displayed, None)


def test_lists_and_structs_keep_bytes_and_texts() -> None:
    kind = 'STRUCT("it\'s" BLOB[], b VARCHAR)'
    value = {"it's": ["qrs=", None], "b": "a 'quoted' \\x \"text\""}
    table = {"name": "t", "columns": {"a": kind}, "rows": [[value]]}
    assert rows("SELECT a FROM t", table) == [[{"it's": [b"\xaa\xbb", None], "b": value["b"]}]]


def test_names_may_be_anything() -> None:
    name = 'a "b" ; DROP TABLE t -- '
    table = {"name": name, "columns": {name: "INTEGER"}, "rows": [[7]]}
    quoted = name.replace('"', '""')
    assert rows(f'SELECT "{quoted}" FROM "{quoted}"', table) == [[7]]  # noqa: S608 quoted


@pytest.mark.parametrize(
    "query",
    [
        "",
        ";",
        "SELECT 1; SELECT 2",
        "COPY t TO '/tmp/x'",
        "ATTACH '/tmp/x'",
        "PRAGMA version",
        "SET threads = 2",
        "INSTALL httpfs",
        "LOAD httpfs",
        "EXPLAIN SELECT 1",
        "PREPARE p AS SELECT 1",
        "EXECUTE p",
        "CALL pragma_version()",
        "CREATE TABLE u AS SELECT 1",
        "INSERT INTO t VALUES (1, 'x')",
        "WITH a AS (SELECT 1) INSERT INTO t SELECT 1, 'x' FROM a",
        "DELETE FROM t RETURNING *",
        "DROP TABLE t",
        "BEGIN",
        "CHECKPOINT",
        "EXPORT DATABASE '/tmp/x'",
        "PIVOT t ON b USING sum(a)",
    ],
)
def test_only_one_select_runs(query: str) -> None:
    assert fault(query) == "not_one_select"


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("SELEC 1", "syntax"),
        ("SELECT c FROM t", "unknown_name"),
        ("SELECT * FROM u", "unknown_name"),
        ("SELECT nothing(1)", "unknown_name"),
        ("SELECT CAST(b AS INTEGER) FROM t", "data"),
        ("SELECT error('x')", "data"),
        ("SELECT 9223372036854775807 + 1", "data"),
        ("SELECT $1", "data"),
        ("SELECT * FROM range(100001)", "too_many_rows"),
        ("SELECT repeat('x', 200000) FROM range(100)", "too_large"),
        ("SELECT list(range) FROM range(1000000000)", "out_of_memory"),
        ("SELECT " + "(" * 5_000 + "1" + ")" * 5_000, "syntax"),
    ],
)
def test_failure_has_a_kind(query: str, kind: str) -> None:
    assert fault(query) == kind


def test_result_may_have_a_hundred_thousand_rows() -> None:
    assert len(rows("SELECT range FROM range(100000)")) == 100_000


def test_timestamps_with_a_zone_are_in_utc() -> None:
    query = "SELECT {'x y': [a]}, a FROM t"
    table = {"name": "t", "columns": {"a": "TIMESTAMPTZ"}, "rows": [["2024-01-31T01:00:00+02:00"]]}
    [[nested, plain]] = rows(query, table)
    assert plain.isoformat() == "2024-01-30T23:00:00"
    assert nested == {"x y": [plain]}


@pytest.mark.parametrize("column", [{"a": "NOTYPE"}, {"a": "INTEGER"}])
def test_tables_that_cannot_be_created_have_a_fault_of_their_own(column: dict[str, str]) -> None:
    assert fault("SELECT 1", {"name": "t", "columns": column, "rows": [["x"]]}) == "tables"


def test_a_query_that_sleeps_uses_its_time() -> None:
    deadline, started = Deadline(0.5, with_idle_time=True), time.monotonic()
    with open_locked_database((), DataLimits(), deadline) as database, deadline.count_time():
        [statement] = duckdb.extract_statements("SELECT pg_sleep(60)")
        with pytest.raises(DataError, match="longer than it may"):
            database.select_rows(statement, 1)
    assert time.monotonic() - started < 30


def test_idle_time_counts_only_on_request_and_only_in_blocks() -> None:
    counted, other = Deadline(0.05, with_idle_time=True), Deadline(0.05)
    counted.count_idle_interval(1.0)
    assert not counted.is_over
    for deadline in (counted, other):
        with deadline.count_time():
            deadline.count_idle_interval(1.0)
            deadline.count_idle_interval(1.0)
    assert (counted.is_over, other.is_over) == (True, False)
