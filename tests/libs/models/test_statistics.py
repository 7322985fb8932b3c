from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aex_models.numbers import JsonFloat
from aex_models.statistics import (
    MAX_FILTERS,
    MAX_LISTED,
    OF_SEVERAL_INPUTS,
    OF_TWO_COLUMNS,
    OF_TWO_GROUPS,
    DerivedSpec,
    Filter,
    FilterOp,
    Statistic,
    StatisticSpec,
)
from tests.libs.models.refusing import codes

ONE_COLUMN = sorted(set(Statistic) - OF_SEVERAL_INPUTS)
GROUPS = [[{"column": "arm", "op": "eq", "value": arm}] for arm in ("treated", "control")]
LARGE_CHANGE = {"column": "log2FC", "op": ">", "value": 2, "abs": True}


def spec(**fields: Any) -> StatisticSpec:
    return StatisticSpec.model_validate({"name": "it", **fields})


def test_needed_columns_include_those_of_filters_once() -> None:
    genes = spec(stat="count", where=[LARGE_CHANGE, {"column": "FDR", "op": "<", "value": 0.05}])
    assert [(each.op, each.abs) for each in genes.where] == [(FilterOp.GT, True), (FilterOp.LT, False)]
    assert genes.needed_columns == ("log2FC", "FDR")
    found = spec(stat="pearson", columns=["x", "y"], where=[{"column": "y", "op": "neq", "value": 0}])
    assert found.needed_columns == ("x", "y")
    bare = spec(stat="count", tolerance=JsonFloat("0.0010"))
    assert (bare.needed_columns, bare.tolerance) == ((), 0.001)


@pytest.mark.parametrize("stat", ONE_COLUMN)
def test_one_column_is_accepted_in_either_field(stat: Statistic) -> None:
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
def test_statistic_of_two_columns_takes_exactly_two(stat: Statistic) -> None:
    assert spec(stat=stat, column=["x", "y"]).columns == ("x", "y")
    for columns in ({"column": "x"}, {"columns": ["x"]}, {"columns": ["x", "y", "z"]}, {}):
        assert codes(StatisticSpec, {"name": "it", "stat": stat, **columns})


@pytest.mark.parametrize("stat", sorted(OF_TWO_GROUPS))
def test_test_takes_one_column_and_two_groups(stat: Statistic) -> None:
    where = [{"column": "batch", "op": "eq", "value": 1}]
    found = spec(stat=stat, column="x", groups=GROUPS, where=where, alternative="two-sided")
    assert found.needed_columns == ("x", "batch", "arm")
    assert found.filters == (*found.where, *found.groups[0], *found.groups[1])
    assert spec(stat=stat, columns=["x"], groups=GROUPS).alternative is None
    bad: list[dict[str, Any]] = [
        {},
        {"groups": []},
        {"groups": GROUPS[:1]},
        {"groups": [GROUPS[0], GROUPS[0]]},
        {"groups": GROUPS, "columns": ["x", "y"]},
        {"groups": GROUPS, "alpha": 0.05},
        {"groups": GROUPS, "q": 0.5},
    ]
    for fields in bad:
        assert codes(StatisticSpec, {"name": "it", "stat": stat, "column": "x", **fields}) == {"invalid_statistic"}
    tested = {"name": "it", "stat": stat, "column": "x"}
    assert codes(StatisticSpec, {**tested, "groups": [*GROUPS, GROUPS[0]]}) == {"too_long"}
    assert codes(StatisticSpec, {**tested, "groups": [GROUPS[0], []]}) == {"too_short"}
    assert codes(StatisticSpec, {**tested, "groups": [GROUPS[0], GROUPS[1] * (MAX_FILTERS + 1)]}) == {"too_long"}
    assert codes(StatisticSpec, {**tested, "groups": GROUPS, "alternative": "less"}) == {"literal_error"}


def test_other_statistics_take_no_groups() -> None:
    for fields in ({"groups": GROUPS}, {"alternative": "two-sided"}, {"alpha": 0.05}):
        assert codes(StatisticSpec, {"name": "it", "stat": "mean", "column": "x", **fields}) == {"invalid_statistic"}


def test_discoveries_are_counted_at_a_given_alpha() -> None:
    assert spec(stat="bh_count", column="p", alpha=0.05).alpha == 0.05
    counted = {"name": "it", "stat": "bh_count", "column": "p"}
    assert codes(StatisticSpec, counted) == {"invalid_statistic"}
    assert codes(StatisticSpec, {**counted, "alpha": 0}) == {"greater_than"}
    assert codes(StatisticSpec, {**counted, "alpha": 1.5}) == {"less_than_equal"}
    assert codes(StatisticSpec, {**counted, "alpha": 0.05, "columns": ["q"]}) == {"invalid_statistic"}


@pytest.mark.parametrize("written", ["quantile(0.9)", "quantile( .9 )", "quantile(9e-1)"])
def test_quantile_may_hold_its_share(written: str) -> None:
    assert spec(stat=written, column="x") == spec(stat="quantile", column="x", q=0.9)


def test_statistic_with_bad_fields_is_refused() -> None:
    bad: list[dict[str, Any]] = [
        *({"stat": "quantile", "q": q} for q in (None, 1.5, "0.5", True)),
        *({"stat": stat} for stat in ("quantile(2)", "quantile(--)", "quantile(half)", "mode")),
        {"stat": "mean", "q": 0.5},
        *({"column": column} for column in ("", 3, None)),
        *({"name": name} for name in ("9lives", "two words")),
        *({"tolerance": tolerance} for tolerance in (-0.1, "1%", True, float("nan"))),
        {"where": [LARGE_CHANGE] * (MAX_FILTERS + 1)},
        {"where": LARGE_CHANGE},
        {"sql": "1; drop table data"},
    ]
    for fields in bad:
        assert codes(StatisticSpec, {"name": "it", "stat": "mean", "column": "x", **fields}), fields
    malformed: tuple[Any, ...] = (None, [], "mean", 5)
    for raw in malformed:
        with pytest.raises(ValidationError, match="dictionary or instance of StatisticSpec"):
            StatisticSpec.model_validate(raw)


@pytest.mark.parametrize("name", ["select", "count(*)", '"; drop table data; --', "a,b", "σ₁", " "])
def test_column_may_have_any_name(name: str) -> None:
    assert spec(stat="mean", column=name).needed_columns == (name,)


def test_signs_are_operators() -> None:
    signs = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte", "=": "eq", "==": "eq", "!=": "neq", "<>": "neq"}
    for sign, op in signs.items():
        assert Filter.model_validate({"column": "x", "op": sign, "value": 1}).op.value == op


def test_filter_refuses_values_that_cannot_be_compared() -> None:
    bad: dict[str, list[Any]] = {
        "gt": ["2", float("inf")],
        "lte": [True],
        "eq": [None, float("nan"), ["a"], {"a": 1}],
        "in": ["a", [], [1, "a"], [1, True], list(range(MAX_LISTED + 1))],
        "like": ["a%"],
    }
    for op, values in bad.items():
        for value in values:
            assert codes(Filter, {"column": "x", "op": op, "value": value}), (op, value)
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
def test_filter_text_that_no_cell_has_is_refused(op: str, value: Any, fits: bool) -> None:
    raw = {"column": "x", "op": op, "value": value}
    assert Filter.model_validate(raw).value == value if fits else codes(Filter, raw) == {"invalid_filter"}


def test_derived_statistics_accept_any_printable_claim_name() -> None:
    for name in ("read count_mean", "24h_mean", "log2 FC_mean", "Ä/ö", "n" * 300):
        assert DerivedSpec(name=name, stat=Statistic.MEAN, column="x").name == name
        assert codes(StatisticSpec, {"name": name, "stat": "mean", "column": "x"})
    for name in ("", "n" * 301, "a\nb", "a\x00", "\u202e", "a\u200bb"):
        assert codes(DerivedSpec, {"name": name, "stat": "mean", "column": "x"}), name


NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53) + 1, 2**53 - 1)
FILTERS = st.builds(
    lambda column, op, value, size: {"column": column, "op": op, "value": value, "abs": size},
    st.text(min_size=1, max_size=10),
    st.sampled_from(["gt", "gte", "lt", "lte", "eq", "neq"]),
    NUMBERS,
    st.booleans(),
)


@given(st.sampled_from(ONE_COLUMN), st.text(min_size=1, max_size=10), st.lists(FILTERS, max_size=3), st.floats(0, 1))
def test_specification_survives_json(stat: Statistic, column: str, where: list[Any], share: float) -> None:
    found = spec(stat=stat, column=column, where=where, tolerance=share, **({"q": share} if stat == "quantile" else {}))
    assert StatisticSpec.model_validate(found.model_dump(mode="json", exclude_none=True)) == found
    assert StatisticSpec.model_validate_json(found.model_dump_json()) == found
