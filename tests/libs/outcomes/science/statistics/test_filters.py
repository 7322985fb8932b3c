from decimal import Decimal
from typing import Any

import pytest

from tests.libs.outcomes.science.raw_data import code, parquet, spec, value

TABLE = "x,group,flag\n1,a,true\n-2,b,false\n3,a,TRUE\n,a,\n5,NA,false\n"


def count(where: list[dict[str, Any]], table: str | bytes = TABLE, name: str = "data.csv") -> float:
    return value(table, spec("count", None, where=where), name)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"op": "gt", "value": 1}, 2),
        ({"op": "lt", "value": 3}, 2),
        ({"op": "eq", "value": 3}, 1),
        ({"op": "neq", "value": 3}, 3),
        ({"op": "in", "value": [1, 5, 7]}, 2),
        ({"op": "gt", "value": 1.5, "abs": True}, 3),
        ({"op": "eq", "value": 2, "abs": True}, 1),
    ],
)
def test_numbers_are_compared_and_missing_ones_meet_nothing(where: dict[str, Any], expected: int) -> None:
    condition: dict[str, Any] = {"column": "x", **where}
    assert count([condition]) == expected


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"column": "group", "op": "eq", "value": "a"}, 3),
        ({"column": "group", "op": "neq", "value": "a"}, 1),
        ({"column": "group", "op": "in", "value": ["a", "b"]}, 4),
        ({"column": "group", "op": "neq", "value": "NA"}, 4),
        ({"column": "group", "op": "eq", "value": "A"}, 0),
        ({"column": "flag", "op": "eq", "value": True}, 2),
        ({"column": "group", "op": "eq", "value": "a' OR '1'='1"}, 0),
    ],
)
def test_texts_and_booleans_are_equal_or_not(where: dict[str, Any], expected: int) -> None:
    assert count([where]) == expected


def test_all_conditions_must_hold() -> None:
    where: list[dict[str, Any]] = [
        {"column": "x", "op": "gt", "value": 0},
        {"column": "group", "op": "eq", "value": "a"},
    ]
    assert count(where) == 2
    assert value(TABLE, spec("mean", where=where)) == 2


def test_a_condition_on_parquet_compares_the_columns_own_type() -> None:
    table = parquet({"x": [1.0, None], "s": ["1", "b"], "b": [True, False]})
    assert count([{"column": "b", "op": "eq", "value": True}], table, "data.parquet") == 1
    assert count([{"column": "s", "op": "neq", "value": "b"}], table, "data.parquet") == 1
    by_text = spec("count", None, where=[{"column": "s", "op": "gt", "value": 0}])
    assert code(table, by_text, "data.parquet") == "not_numeric"


@pytest.mark.parametrize(("cell", "expected"), [("low", "not_numeric"), ("inf", "not_finite"), ("nan", "not_finite")])
def test_a_condition_that_cannot_be_decided_leaves_no_statistic(cell: str, expected: str) -> None:
    table = f"x,p,kind\n1,0.1,ok\n2,{cell},bad\n"
    by_p = {"column": "p", "op": "lt", "value": 0.5}
    assert code(table, spec("count", None, where=[by_p])) == expected
    only_ok = {"column": "kind", "op": "eq", "value": "ok"}
    assert value(table, spec("count", None, where=[by_p, only_ok])) == 1  # that row is ruled out anyway


def test_filtered_cells_need_not_be_numbers_and_no_rows_are_no_zero() -> None:
    table = "x,kind\n1,ok\nnan,bad\nhigh,bad\n"
    assert value(table, spec("mean", where=[{"column": "kind", "op": "eq", "value": "ok"}])) == 1
    nothing = [{"column": "x", "op": "gt", "value": 100}]
    assert code(TABLE, spec("sum", where=nothing)) == "no_rows"
    assert value(TABLE, spec("count", where=nothing)) == 0


NESTED = "\n".join(
    ('{"x": 1, "g": [1], "k": "a"}', '{"x": 2, "g": {"y": 1}, "k": "b"}', '{"x": 3, "g": "a", "k": "a"}', "")
)


@pytest.mark.parametrize("op", ["eq", "neq"])
def test_no_text_is_compared_with_bytes_lists_or_objects(op: str) -> None:
    where: list[dict[str, Any]] = [{"column": "g", "op": op, "value": "a"}]
    for column in ([b"a", b"b"], [["a"], []], [{"y": 1}, None], [[Decimal("0.1")], None]):
        table = parquet({"g": column, "k": ["a", "b"]})
        assert code(table, spec("count", None, where=where), "data.parquet") == "not_comparable"
        assert code(table, spec("n_unique", "g"), "data.parquet") == "not_comparable"
    assert code(NESTED, spec("count", None, where=where), "data.jsonl") == "not_comparable"
    assert code(NESTED, spec("n_unique", "g"), "data.jsonl") == "not_comparable"
    assert code(NESTED, spec("mean", "g"), "data.jsonl") == "not_numeric"


def test_excluded_rows_need_not_be_comparable_and_lists_are_counted() -> None:
    where: list[dict[str, Any]] = [{"column": "g", "op": "eq", "value": "a"}, {"column": "x", "op": "gt", "value": 2}]
    assert count(where, NESTED, "data.jsonl") == 1
    assert value(NESTED, spec("count", "g"), "data.jsonl") == 3
