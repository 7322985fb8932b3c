"""Types of columns, and the values that fit them, as DuckDB itself reads them."""

from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.numbers import JsonFloat
from aex_outcomes.kernels.sql_types import ColumnType, parse_column_type


def parsed(text: str) -> ColumnType:
    found = parse_column_type(text)
    assert found is not None, text
    return found


def fits(text: str, value: Any) -> bool:
    try:
        parsed(text).convert(value)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("int", "INTEGER"),
        ("Double Precision", "DOUBLE"),
        ("character varying(20)", "VARCHAR"),
        ("numeric", "DECIMAL(18,3)"),
        ("DECIMAL ( 10 , 2 )", "DECIMAL(10,2)"),
        ("dec(5)", "DECIMAL(5,0)"),
        ("ubigint", "UBIGINT"),
        ("timestamp with time zone", "TIMESTAMPTZ"),
        ("INTEGER[][]", "INTEGER[][]"),
        ('struct(a int, "b""c" text[])', 'STRUCT("a" INTEGER, "b""c" VARCHAR[])'),
    ],
)
def test_type_has_one_spelling_that_the_database_takes(text: str, sql: str) -> None:
    assert parsed(text).sql == sql
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"CREATE TABLE t (a {sql})")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "INTEGR",
        "INTEGER, b INTEGER",
        "INTEGER); DROP TABLE t; --",
        "DECIMAL(39,2)",
        "DECIMAL(4,5)",
        "DECIMAL(1,2,3)",
        "DECIMAL()",
        "INTEGER(3)",
        "INTEGER[",
        "INTEGER[3]",
        "STRUCT()",
        "STRUCT(a)",
        "STRUCT INTEGER",
        "STRUCT(a INTEGER b TEXT)",
        "STRUCT(a INTEGER, A TEXT)",
        "STRUCT(a INTEGER",
        "UHUGEINTS",
        "WITH TIME ZONE",
        "ENUM('a')",
        "'x'",
        "STRUCT(a " * 20 + "INTEGER" + ")" * 20,
        "INTEGER" + "[]" * 20,
    ],
)
def test_other_texts_are_no_types(text: str) -> None:
    assert parse_column_type(text) is None


@given(st.text(max_size=40))
def test_any_text_is_a_type_or_none(text: str) -> None:
    found = parse_column_type(text)
    assert found is None or parse_column_type(found.sql) is not None


@pytest.mark.parametrize(
    ("text", "good", "bad"),
    [
        ("TINYINT", [-128, 127, 5.0, "12"], [128, 1.5, True, "x", [], "1e3", "١"]),
        ("UTINYINT", [0, 255], [-1, 256]),
        ("HUGEINT", ["170141183460469231731687303715884105727"], ["170141183460469231731687303715884105728"]),
        ("DECIMAL(4,2)", [1, 99.99, "-99.99", 0.1], [100, 0.123, "1,5", True, "NaN"]),
        ("DOUBLE", [1, 1.5, "NaN", "-Infinity"], ["1.5", True, None]),
        ("FLOAT", [1e38], [1e39]),
        ("BOOLEAN", [True, False], [1, "true"]),
        ("VARCHAR", ["", "é"], [1, "\ud800"]),
        ("DATE", ["2024-02-29"], ["2023-02-29", "2024-02-29T00:00:00", 20240229]),
        ("TIME", ["10:00", "10:00:00.5"], ["25:00", "10:00+02:00"]),
        ("TIMESTAMP", ["2024-02-29", "2024-02-29T10:00:00.25"], ["2024-02-29T10:00:00Z", "now"]),
        ("TIMESTAMPTZ", ["2024-02-29T10:00:00Z", "2024-02-29 10:00:00"], ["yesterday"]),
        ("UUID", ["12345678-1234-5678-1234-567812345678"], ["1234"]),
        ("BLOB", ["", "qrs="], ["qrs", "é"]),
        ("INTEGER[]", [[], [1, None]], [1, ["a"], {}]),
        ("STRUCT(a INTEGER, b VARCHAR)", [{}, {"a": 1}, {"a": None, "b": "x"}], [{"c": 1}, {"a": "x"}, []]),
    ],
)
def test_values_fit_their_type(text: str, good: list[Any], bad: list[Any]) -> None:
    assert [value for value in good if not fits(text, value)] == []
    assert [value for value in bad if fits(text, value)] == []


def test_numbers_of_a_parsed_body_fit_as_plain_ones() -> None:
    for text in ("DECIMAL(10,2)", "DOUBLE", "FLOAT"):
        assert fits(text, JsonFloat("10.50"))


@given(st.integers(-(2**70), 2**70), st.sampled_from(["SMALLINT", "UINTEGER", "BIGINT", "UHUGEINT"]))
def test_integer_fits_where_the_database_takes_it(number: int, kind: str) -> None:
    with duckdb.connect(":memory:") as connection:
        taken = connection.execute(f"SELECT TRY_CAST($1 AS {kind}) IS NOT NULL", [str(number)]).fetchall()[0][0]
    assert fits(kind, str(number)) is taken
