"""What a statistic of raw data may ask for."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aex_models.numbers import JsonFloat
from aex_models.statistics import (
    MAX_FILTERS,
    MAX_LISTED,
    OF_TWO_COLUMNS,
    DerivedSpec,
    Filter,
    FilterOp,
    Statistic,
    StatisticSpec,
)

ONE_COLUMN = sorted(set(Statistic) - OF_TWO_COLUMNS)
LARGE_CHANGE = {"column": "log2FC", "op": ">", "value": 2, "abs": True}


def spec(**fields: Any) -> StatisticSpec:
    return StatisticSpec.model_validate({"name": "it", **fields})


def codes(model: Any, raw: Any) -> set[str]:
    with pytest.raises(ValidationError) as refused:
        model.model_validate(raw)
    return {each["type"] for each in refused.value.errors()}


def test_a_count_of_filtered_rows_is_one_specification() -> None:
    genes = spec(stat="count", where=[LARGE_CHANGE, {"column": "FDR", "op": "<", "value": 0.05}])
    assert [(each.op, each.abs) for each in genes.where] == [(FilterOp.GT, True), (FilterOp.LT, False)]
    assert genes.needed_columns == ("log2FC", "FDR")


def test_columns_are_named_once_each_filters_included() -> None:
    found = spec(stat="pearson", columns=["x", "y"], where=[{"column": "y", "op": "neq", "value": 0}])
    assert found.needed_columns == ("x", "y")
    assert spec(stat="count").needed_columns == ()


@pytest.mark.parametrize("stat", ONE_COLUMN)
def test_a_statistic_of_one_column_takes_it_in_either_field(stat: Statistic) -> None:
    q = {"q": 0.5} if stat is Statistic.QUANTILE else {}
    spelled = [
        spec(stat=stat, column="x", **q),
        spec(stat=stat, columns=["x"], **q),
        spec(stat=stat, column=["x"], **q),
    ]
    assert {(each.column, each.columns) for each in spelled} == {("x", ())}
    assert codes(StatisticSpec, {"name": "it", "stat": stat, "columns": ["x", "y"], **q}) == {"invalid_statistic"}
    assert codes(StatisticSpec, {"name": "it", "stat": stat, "column": "x", "columns": ["y"], **q})


@pytest.mark.parametrize("stat", sorted(OF_TWO_COLUMNS))
def test_a_statistic_of_two_columns_takes_exactly_two(stat: Statistic) -> None:
    assert spec(stat=stat, column=["x", "y"]).columns == ("x", "y")
    for columns in ({"column": "x"}, {"columns": ["x"]}, {"columns": ["x", "y", "z"]}, {}):
        assert codes(StatisticSpec, {"name": "it", "stat": stat, **columns})


@pytest.mark.parametrize("written", ["quantile(0.9)", "quantile( .9 )", "quantile(9e-1)"])
def test_a_quantile_may_be_written_in_one_word(written: str) -> None:
    assert spec(stat=written, column="x") == spec(stat="quantile", column="x", q=0.9)


@pytest.mark.parametrize(
    "fields",
    [
        {"stat": "quantile"},
        {"stat": "quantile", "q": 1.5},
        {"stat": "quantile", "q": "0.5"},
        {"stat": "quantile", "q": True},
        {"stat": "quantile(2)"},
        {"stat": "quantile(--)"},
        {"stat": "quantile(half)"},
        {"stat": "mean", "q": 0.5},
    ],
)
def test_quantile_alone_takes_a_number_from_zero_to_one(fields: dict[str, Any]) -> None:
    assert codes(StatisticSpec, {"name": "it", "column": "x", **fields})


@pytest.mark.parametrize(
    "fields",
    [
        {"stat": "mode"},
        {"stat": "mean", "column": ""},
        {"stat": "mean", "column": 3},
        {"stat": "mean", "column": None},
        {"name": "9lives"},
        {"name": "two words"},
        {"tolerance": -0.1},
        {"tolerance": "1%"},
        {"tolerance": True},
        {"tolerance": float("nan")},
        {"where": [LARGE_CHANGE] * (MAX_FILTERS + 1)},
        {"where": LARGE_CHANGE},
        {"sql": "1; drop table data"},
    ],
)
def test_what_is_no_statistic_is_refused(fields: dict[str, Any]) -> None:
    assert codes(StatisticSpec, {"name": "it", "stat": "mean", "column": "x", **fields})


@pytest.mark.parametrize("name", ["select", "count(*)", '"; drop table data; --', "a,b", "σ₁", " "])
def test_a_column_may_be_called_like_anything(name: str) -> None:
    assert spec(stat="mean", column=name).needed_columns == (name,)


@pytest.mark.parametrize(
    ("sign", "op"),
    [(">", "gt"), (">=", "gte"), ("<", "lt"), ("<=", "lte"), ("=", "eq"), ("==", "eq"), ("!=", "neq"), ("<>", "neq")],
)
def test_signs_and_words_compare_alike(sign: str, op: str) -> None:
    assert Filter.model_validate({"column": "x", "op": sign, "value": 1}).op.value == op


@pytest.mark.parametrize(
    ("op", "value"),
    [
        ("gt", "2"),
        ("lte", True),
        ("eq", None),
        ("eq", float("nan")),
        ("gt", float("inf")),
        ("eq", ["a"]),
        ("eq", {"a": 1}),
        ("in", "a"),
        ("in", []),
        ("in", [1, "a"]),
        ("in", [1, True]),
        ("in", list(range(MAX_LISTED + 1))),
        ("like", "a%"),
    ],
)
def test_what_cannot_be_compared_is_refused(op: str, value: Any) -> None:
    assert codes(Filter, {"column": "x", "op": op, "value": value})


def test_only_numbers_have_an_absolute_value() -> None:
    assert codes(Filter, {"column": "x", "op": "eq", "value": "a", "abs": True}) == {"invalid_filter"}
    assert codes(Filter, {"column": "x", "op": "gt", "value": 1, "abs": 1}) == {"bool_type"}


@pytest.mark.parametrize(
    ("op", "value", "fits"),
    [
        ("eq", " x ", False),
        ("neq", "x\t", False),
        ("in", ["a", " b"], False),
        ("eq", "NA", False),
        ("eq", "", False),
        ("in", ["a", "null"], False),
        ("neq", "NA", True),  # what is not missing
        ("eq", "na", True),
        ("eq", "two words", True),
    ],
)
def test_a_text_that_no_cell_is_read_as_is_refused(op: str, value: Any, fits: bool) -> None:
    raw = {"column": "x", "op": op, "value": value}
    assert Filter.model_validate(raw).value == value if fits else codes(Filter, raw) == {"invalid_filter"}


@pytest.mark.parametrize("name", ["read count_mean", "24h_mean", "log2 FC_mean", "Ä/ö", "n" * 300])
def test_what_no_work_asks_for_may_be_called_as_any_claim(name: str) -> None:
    assert DerivedSpec(name=name, stat=Statistic.MEAN, column="x").name == name
    assert codes(StatisticSpec, {"name": name, "stat": "mean", "column": "x"})


@pytest.mark.parametrize("name", ["", "n" * 301, "a\nb", "a\x00", "\u202e", "a\u200bb"])
def test_a_name_that_cannot_be_printed_is_none(name: str) -> None:
    assert codes(DerivedSpec, {"name": name, "stat": "mean", "column": "x"})


NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53) + 1, 2**53 - 1)
FILTERS = st.builds(
    lambda column, op, value, size: {"column": column, "op": op, "value": value, "abs": size},
    st.text(min_size=1, max_size=10),
    st.sampled_from(["gt", "gte", "lt", "lte", "eq", "neq"]),
    NUMBERS,
    st.booleans(),
)


@given(st.sampled_from(ONE_COLUMN), st.text(min_size=1, max_size=10), st.lists(FILTERS, max_size=3), st.floats(0, 1))
def test_a_specification_survives_json(stat: Statistic, column: str, where: list[Any], share: float) -> None:
    found = spec(stat=stat, column=column, where=where, tolerance=share, **({"q": share} if stat == "quantile" else {}))
    assert StatisticSpec.model_validate(found.model_dump(mode="json", exclude_none=True)) == found
    assert StatisticSpec.model_validate_json(found.model_dump_json()) == found


def test_numbers_that_keep_their_text_are_taken() -> None:
    assert spec(stat="mean", column="x", tolerance=JsonFloat("0.0010")).tolerance == 0.001


@pytest.mark.parametrize("raw", [None, [], "mean", 5])
def test_what_is_no_object_is_no_specification(raw: Any) -> None:
    with pytest.raises(ValidationError, match="dictionary or instance of StatisticSpec"):
        StatisticSpec.model_validate(raw)
