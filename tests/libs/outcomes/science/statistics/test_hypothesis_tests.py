import math
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from aex_outcomes.science.recompute import Recomputation
from aex_outcomes.science.reconcile import RoundingScale, reconcile
from tests.examples import examples
from tests.libs.outcomes.science.raw_data import code, parquet, recomputed, spec, value

TESTS = ("welch_t", "welch_p", "mannwhitney_u", "mannwhitney_p")
GROUPS: list[Any] = [[{"column": "arm", "op": "eq", "value": arm}] for arm in ("treated", "control")]


def spec_of(stat: str, **more: Any) -> Any:
    return spec(stat, **{"groups": GROUPS, "name": stat, **more})


def csv_of(rows: list[tuple[str, Any]]) -> str:
    return "\n".join(["arm,x", *(f"{arm},{'' if each is None else repr(each)}" for arm, each in rows), ""])


def table_of(first: Any, second: Any) -> str:
    return csv_of([("treated", float(each)) for each in first] + [("control", float(each)) for each in second])


def results(table: str, **more: Any) -> dict[str, float | str]:
    """Return the value of every test, or the code of its problem."""
    found: Recomputation = recomputed(table, *(spec_of(stat, **more) for stat in TESTS))
    return {each.name: each.value for each in found.values} | {str(each.name): each.code for each in found.problems}


def by_scipy(first: list[float], second: list[float]) -> dict[str, float | str]:
    """Return scipy's results, or the code that is due where there is none."""
    if not first or not second:
        return dict.fromkeys(TESTS, "no_rows")
    ranks = scipy.stats.mannwhitneyu(first, second)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy warns of a constant group, and of one value
        welch = scipy.stats.ttest_ind(first, second, equal_var=False)
    expected = {
        "mannwhitney_u": ranks.statistic, "mannwhitney_p": ranks.pvalue,
        "welch_t": welch.statistic, "welch_p": welch.pvalue,
    }  # fmt: skip
    return {stat: float(each) if math.isfinite(each) else "undefined" for stat, each in expected.items()}


def assert_equal(found: dict[str, float | str], expected: dict[str, float | str]) -> None:
    for stat in TESTS:
        if isinstance(expected[stat], str):
            assert found[stat] == expected[stat], stat
        else:
            assert found[stat] == pytest.approx(expected[stat], rel=1e-9, abs=1e-12 if stat == "welch_t" else 0), stat


EIGHTHS = st.integers(-4_000, 4_000).map(lambda each: each / 8)
"""Numbers of which scipy sums exactly, so that no difference is its own rounding."""
CELLS = st.none() | st.integers(-2, 2).map(float) | EIGHTHS
ROWS = st.lists(
    st.tuples(st.sampled_from(["treated", "control", "treated", "control", "other", "NA"]), CELLS), max_size=60
)


@given(ROWS)
@settings(max_examples=examples(1_000), deadline=None)
@pytest.mark.timeout(1_200)
@pytest.mark.slow
def test_tests_equal_scipys_on_random_tables_with_ties_and_gaps(rows: list[tuple[str, float | None]]) -> None:
    rows = [*rows, ("other", 1.0)]
    groups = [[each for arm, each in rows if arm == name and each is not None] for name in ("treated", "control")]
    assert_equal(results(csv_of(rows)), by_scipy(*groups))


RNG = np.random.default_rng(1729)
SAMPLES: dict[str, tuple[Any, Any]] = {
    "normal": (RNG.normal(0, 1, 300), RNG.normal(0.2, 3, 200)),
    "far apart": (RNG.normal(0, 1, 300), RNG.normal(12, 1.5, 400)),
    "large": (RNG.normal(0, 1, 4_000), RNG.normal(0.01, 2, 3_000)),
    "exact up to eight": (RNG.normal(0, 1, 8), RNG.normal(1, 1, 100)),
    "exact of two": (RNG.normal(0, 1, 2), RNG.normal(-1, 1, 2)),
    "approximate from nine": (RNG.normal(0, 1, 9), RNG.normal(1, 1, 9)),
    "few with a tie": ([1.0, 2.0, 3.0], [3.0, 4.0, 5.0, 6.0]),
    "one beside many": ([0.3], RNG.normal(0, 1, 50)),
    "constant beside others": ([2.0, 2.0, 2.0], [1.0, 5.0, 6.0, 2.0]),
    "equal means": ([1.0, 3.0], [1.0, 2.0, 3.0]),
    "whole": (RNG.integers(0, 5, 99), RNG.integers(1, 6, 120)),
}


@pytest.mark.parametrize("sample", SAMPLES)
def test_tests_equal_scipys(sample: str) -> None:
    first, second = (list(map(float, each)) for each in SAMPLES[sample])
    found = results(table_of(first, second))
    assert_equal(found, by_scipy(first, second))
    swapped = results(table_of(second, first))
    assert swapped["mannwhitney_p"] == found["mannwhitney_p"]


def test_tests_hold_at_every_scale() -> None:
    first, second = [1.0, 2.0, 4.0, 7.0], [2.0, 3.0, 9.0]
    expected = results(table_of(first, second))
    for exponent in (-1_000, -500, 500, 1_000):
        scaled = [[math.ldexp(each, exponent) for each in group] for group in (first, second)]
        assert results(table_of(*scaled)) == pytest.approx(expected, rel=1e-12)
    assert value(table_of([1e300, 1e300, 1e300], [0.0, 1.0]), spec("welch_t", groups=GROUPS)) == pytest.approx(2e300)


def test_large_integers_keep_their_differences() -> None:
    base = 2**60
    file = parquet({"arm": ["treated"] * 3 + ["control"] * 3, "x": [base + each for each in (1, 2, 3, 3, 4, 5)]})
    found = recomputed(file, *(spec_of(stat) for stat in TESTS), name="a.parquet")
    expected = by_scipy([1.0, 2.0, 3.0], [3.0, 4.0, 5.0])
    assert_equal({each.name: each.value for each in found.values}, expected)


def test_groups_and_where_choose_the_rows() -> None:
    rows = "arm,x,batch\ntreated,1,1\ntreated,2,1\ntreated,90,2\ncontrol,1.5,1\ncontrol,0.5,1\ncontrol,-70,2\n"
    where = [{"column": "batch", "op": "eq", "value": 1}]
    found = value(rows, spec("welch_t", groups=GROUPS, where=where))
    assert found == pytest.approx(scipy.stats.ttest_ind([1, 2], [1.5, 0.5], equal_var=False).statistic, rel=1e-12)
    by_number = [[{"column": "batch", "op": "eq", "value": each}] for each in (1, 2)]
    assert value(rows, spec("mannwhitney_u", groups=by_number)) == 4


def test_test_without_a_value_says_which_group_lacks_it() -> None:
    found = recomputed("arm,x\ntreated,1\ntreated,2\n", spec_of("welch_p"))
    [problem] = found.problems
    assert (problem.code, problem.message) == ("no_rows", "group 2 of the test: no row with a value is left")
    assert code("arm,x\ntreated,high\ncontrol,1\n", spec("welch_t", groups=GROUPS)) == "not_numeric"
    assert code("arm,x\ntreated,inf\ncontrol,1\n", spec("mannwhitney_u", groups=GROUPS)) == "not_finite"
    assert code("x,y\n1,2\n", spec("mannwhitney_u", groups=GROUPS)) == "column_missing"


def test_constant_groups_have_the_results_of_scipy() -> None:
    found = results(table_of([2.0] * 12, [2.0] * 10))
    assert found == {"mannwhitney_u": 60.0, "mannwhitney_p": 1.0, "welch_t": "undefined", "welch_p": "undefined"}
    for groups in (([2.0] * 3, [3.0] * 2), ([2.0], [3.0] * 2), ([2.0], [2.0])):
        assert_equal(results(table_of(*groups)), by_scipy(*groups))
    assert results(table_of([2.0] * 3, [3.0] * 2))["welch_p"] == 0.0


def test_claims_of_tests_are_compared_in_their_own_units() -> None:
    table = table_of([1.0, 2.0, 3.0], [101.0, 102.0, 103.0])
    found = recomputed(table, *(spec_of(stat) for stat in TESTS))
    error = math.sqrt(2 / 3)
    assert found.scales["welch_t"].noise == pytest.approx(103e-13 / error)
    assert found.scales["mannwhitney_u"] == RoundingScale()
    assert found.scales["welch_p"] == found.scales["mannwhitney_p"] == RoundingScale(1e-9)
    tiny = {"welch_p": 1e-200}
    [reconciled] = reconcile({"welch_p": 1e-180}, tiny, scales=found.scales)
    assert reconciled.status == "mismatch"
    [reconciled] = reconcile({"welch_p": 0}, tiny, scales=found.scales)
    assert reconciled.status == "match"
