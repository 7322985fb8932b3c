"""Problems of `evaluation.sql` at submission."""

from typing import Any

import pytest

from aex_outcomes import Catalog
from aex_outcomes.extractors.sql_checks import MAX_TABLE_ROWS, check_sql_task
from aex_outcomes.submission import check_criteria

TABLE = {"columns": {"a": "INTEGER"}, "rows": [[1]]}


def found(tables: Any = None, expected: Any = None, **fields: Any) -> list[tuple[str, str]]:
    given = {"t": TABLE} if tables is None else tables
    task = {"tables": given, "expected": {"rows": [[1]]} if expected is None else expected, **fields}
    problems = list(check_sql_task(task))
    assert all("canary" not in each.message for each in problems)
    return [(each.path, each.code) for each in problems]


def test_all_problems_are_found_at_once() -> None:
    tables = {
        "t": {"columns": {"a": "INTEGER", "A": "DATE", "b": "INTEGR"}, "rows": [["canary", None, 1], [1], [None] * 3]},
        "T/~": {"columns": {"a\n": "DECIMAL(3,1)"}, "rows": [["99.9"], ["canary"], [100]]},
        "t/~": TABLE,
    }
    expected = {"columns": ["x", "y"], "rows": [[1, 2], [1]]}
    assert sorted(found(tables, expected)) == sorted(
        [
            ("/sql/tables/t~1~0", "duplicate_name"),
            ("/sql/tables/t/columns/A", "duplicate_name"),
            ("/sql/tables/t/columns/b", "unknown_type"),
            ("/sql/tables/t/rows/0/0", "wrong_value"),
            ("/sql/tables/t/rows/1", "row_length"),
            ("/sql/tables/T~1~0/columns/a\n", "invalid_name"),
            ("/sql/tables/T~1~0/rows/1/0", "wrong_value"),
            ("/sql/tables/T~1~0/rows/2/0", "wrong_value"),
            ("/sql/expected/rows/1", "row_length"),
        ]
    )


def test_a_good_task_has_no_problem() -> None:
    assert found() == []
    assert found(expected={"query": "SELECT 1"}, names=True) == []
    assert found(expected={"rows": []}) == []
    assert found(tables={}) == []


def test_rows_are_counted_over_all_tables() -> None:
    half = {"columns": {"a": "INTEGER"}, "rows": [[1]] * (MAX_TABLE_ROWS // 2)}
    assert found({"a": half, "b": half}) == []
    assert found({"a": half, "b": half, "c": TABLE}) == [("/sql/tables", "too_many_rows")]


def test_names_need_columns() -> None:
    assert found(expected={"rows": [[1]]}, names=True) == [("/sql/expected/columns", "names_without_columns")]
    assert found(expected={"columns": ["a"], "rows": [[1]]}, names=True) == []


def test_expected_rows_have_one_length() -> None:
    assert found(expected={"rows": [[1], [1, 2], [2]]}) == [("/sql/expected/rows/1", "row_length")]


@pytest.mark.parametrize(
    ("query", "is_refused"),
    [
        ("SELECT 1", False),
        (" ( SELECT 1 ) ; ", False),
        ("/* a; b */ with x as (select 1) from x -- c;", False),
        ("select ';' || $$;$$ || $a$ ; $a$ || e'\\';' as \"x;y\"", False),
        ("values (1)", False),
        ("", False),
        (";", True),
        ("SELECT 1; SELECT 2", True),
        ("COPY t TO 'x'", True),
        ("EXPLAIN SELECT 1", True),
        ("-- SELECT 1", True),
        ("123", True),
    ],
)
def test_an_expected_query_is_one_select(query: str, is_refused: bool) -> None:
    assert found(expected={"query": query}) == ([("/sql/expected/query", "not_one_select")] if is_refused else [])


@pytest.mark.parametrize(
    "task",
    [
        None,
        5,
        [],
        {},
        {"tables": 5},
        {"tables": {"t": 5}, "expected": 5},
        {"tables": {"t": {"columns": {"a": 5}}}},
        {"tables": {"t": {"columns": {"a": "INTEGER"}, "rows": [5, None]}}, "expected": {"query": 5, "rows": [5]}},
    ],
)
def test_wrong_shapes_are_left_to_the_model(task: Any) -> None:
    assert list(check_sql_task(task)) == []


def test_values_belong_to_columns_in_their_stated_order() -> None:
    table = {"columns": {"a": "INTEGER", "b": "DATE"}, "column_order": ["b", "a"], "rows": [["2024-01-31", 1]]}
    assert found({"t": table}) == []
    assert len(found({"t": {**table, "column_order": ["a", "b"]}})) == 2
    assert len(found({"t": {**table, "column_order": ["b", "c"]}})) == 2


def test_the_number_of_problems_is_bounded() -> None:
    rows = [["canary"]] * 1_000
    assert len(found({"t": {"columns": {"a": "INTEGER"}, "rows": rows}})) == 100


def test_problems_have_the_pointers_of_named_data() -> None:
    bad = {"tables": {"t": {"columns": {"a": "INTEGR"}}}, "expected": {"rows": [[1]]}}
    criterion = {"metric": "sql_result_match.x", "metric_type": "boolean", "comparison": "eq", "threshold": True}
    body = {"success_criteria": {"criteria": [criterion]}, "evaluation": {"named": {"x": {"sql": bad}}}}
    problems = check_criteria(body, Catalog.of()).problems
    assert [(each.path, each.code) for each in problems] == [
        ("/evaluation/named/x/sql/tables/t/columns/a", "unknown_type")
    ]
