import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.numbers import JsonFloat
from aex_models.science import Science
from aex_outcomes import DataLimits
from aex_outcomes.science.examine import examine
from aex_outcomes.science.gate import decide_science_result
from aex_outcomes.science.internal_consistency import find_inconsistent_claims


def names(**claims: Any) -> list[str]:
    return [each.name for each in find_inconsistent_claims(claims)]


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({"min_x": 5, "max_x": 3}, ["min_x"]),
        ({"min_x": 1, "median_x": 0}, ["min_x"]),
        ({"x_min": 1, "mean_x": 0.5}, ["x_min"]),
        ({"mean_x": 12, "x_max": 11}, ["mean_x"]),
        ({"average_of_x": 4, "x_median": 4, "min_x": 4, "max_x": 4}, []),
        ({"std_x": -0.1}, ["std_x"]),
        ({"variance_x": -1}, ["variance_x"]),
        ({"std_x": 2, "var_x": 4.04}, []),
        ({"std_x": 2, "var_x": 4.05}, ["var_x"]),
        ({"mean_x": 2, "count_x": 10, "sum_x": 20}, []),
        ({"mean_x": 2, "count_x": 10, "sum_x": 21}, ["sum_x"]),
        ({"mean_x": 2, "sum_x": 21}, []),
        ({"pearson_r": -0.5, "r_squared": 0.25}, []),
        ({"pearson_r": -0.5, "r_squared": 0.5}, ["r_squared"]),
        ({"pearson_a_b": 0.5, "r2_a_b": 0.5, "r_squared_c": 0.1}, ["r2_a_b"]),
        ({"min_x": 5, "max_y": 3}, []),
        ({"min_x[g=a]": 5, "max_x[g=b]": 3, "max_x[g=a]": 3}, ["min_x[g=a]"]),
        ({"min_mean_x": 5, "max_x": 3, "minimum": 5, "x" * 400 + "_max": 1}, []),
        ({"min_x": None, "max_x": float("nan"), "mean_x": "1", "median_x": True}, []),
        ({"": 1, "[": 1, "mean": 5, "max": 3}, ["mean"]),
        ({"mean_x": 1, "x_mean": 5, "max_x": 2}, ["x_mean"]),
        ({"max_x": 9, "x_max": 2, "mean_x": 5}, ["mean_x"]),
        ({"var_x": 4, "x_var": 9, "sd_x": 2}, ["x_var"]),
        ({"sum_x": 6, "mean_x": 2, "count_x": 3, "x_average": 4}, ["sum_x"]),
        ({"std_x": 1e200, "var_x": 1}, ["var_x"]),
        ({"pearson": 1e300, "r2": 1e300}, ["r2"]),
    ],
)
def test_claims_about_one_quantity_are_compared(claims: dict[str, Any], expected: list[str]) -> None:
    assert names(**claims) == expected


def test_rounding_at_a_claims_own_decimals_is_no_contradiction() -> None:
    assert names(min_x=JsonFloat("0.13"), mean_x=JsonFloat("0.126")) == []
    assert names(pearson_r=JsonFloat("0.03"), r_squared=JsonFloat("0.0012")) == ["r_squared"]
    assert names(pearson_r=JsonFloat("0.034"), r_squared=JsonFloat("0.0012")) == []
    assert names(std_x=JsonFloat("1.0"), var_x=JsonFloat("1.5")) == ["var_x"]


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30), st.integers(0, 6))
def test_true_statistics_are_consistent_when_rounded(values: list[float], decimals: int) -> None:
    true = {
        "min_x": min(values), "max_x": max(values), "mean_x": statistics.fmean(values),
        "median_x": statistics.median(values), "std_x": statistics.stdev(values),
    }  # fmt: skip
    claims = {name: JsonFloat(f"{value:.{decimals}f}") for name, value in true.items()}
    exact = true | {"var_x": statistics.variance(values)}
    assert find_inconsistent_claims(exact) == ()
    if decimals and all(abs(value) >= 1 for value in true.values()):
        assert find_inconsistent_claims(claims) == ()


STATISTICS = ["min_x", "max_x", "x_max", "std_x", "var_x", "mean_x", "count_x", "sum_x", "pearson", "r2"]


@given(st.dictionaries(st.text(max_size=12) | st.sampled_from(STATISTICS), st.floats() | st.integers()))
def test_any_claims_are_compared_without_an_error(claims: dict[str, Any]) -> None:
    assert {each.name for each in find_inconsistent_claims(claims)} <= set(claims)


def test_contradiction_is_a_violation_where_it_is_demanded() -> None:
    claims = {"min_x": 5, "max_x": 3}
    for checks, passed in ((["internal_consistency"], False), (["value_ranges"], True)):
        science = Science.model_validate({"checks": checks})
        found = examine(science, None, claims, [], DataLimits())
        result = decide_science_result(science, found, None)
        assert result.passed is passed
        assert [each.names for each in result.reasons] == ([] if passed else [("min_x",)])
    [violation] = examine(Science(checks=("internal_consistency",)), None, claims, [], DataLimits()).domain_violations
    assert violation.message == "5.0 is above max_x, which is 3.0"
    assert violation.source == "internal_consistency"
