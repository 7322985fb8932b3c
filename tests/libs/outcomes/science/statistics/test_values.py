import math
import struct
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.libs.outcomes.science.raw_data import code, parquet, recomputed, spec, value

RNG = np.random.default_rng(20240229)
OF_ONE: dict[str, Any] = {
    "mean": np.mean,
    "std": lambda x: np.std(x, ddof=1),
    "var": lambda x: np.var(x, ddof=1),
    "min": np.min,
    "max": np.max,
    "median": np.median,
    "sum": np.sum,
    "count": len,
    "n_unique": lambda x: len(np.unique(x)),
    "quantile(0.1)": lambda x: np.quantile(x, 0.1),
    "quantile(0.975)": lambda x: np.quantile(x, 0.975),
}
OF_TWO: dict[str, Any] = {
    "pearson": lambda x, y: scipy.stats.pearsonr(x, y).statistic,
    "spearman": lambda x, y: scipy.stats.spearmanr(x, y).statistic,
    "slope": lambda x, y: scipy.stats.linregress(x, y).slope,
    "r_squared": lambda x, y: scipy.stats.linregress(x, y).rvalue ** 2,
}
SAMPLES: dict[str, Any] = {
    "normal": lambda: RNG.normal(0.3, 2, 20_001),
    "far from zero": lambda: 1e9 + RNG.normal(0, 1, 5_000),
    "very large": lambda: RNG.normal(3, 1, 1_000) * 1e150,
    "very small": lambda: RNG.normal(3, 1, 1_000) * 1e-150,
    "of many magnitudes": lambda: 10.0 ** RNG.uniform(-30, 30, 4_000),
    "whole": lambda: RNG.integers(-1000, 1000, 3_000).astype(float),
    "with ties": lambda: RNG.integers(0, 5, 999).astype(float),
}


def csv_of(**columns: Any) -> str:
    rows = zip(*columns.values(), strict=True)
    return "\n".join([",".join(columns), *(",".join(map(repr, map(float, row))) for row in rows), ""])


@pytest.mark.parametrize("sample", SAMPLES)
def test_statistics_of_one_column_equal_numpys(sample: str) -> None:
    values = SAMPLES[sample]()
    found = recomputed(csv_of(x=values), *(spec(stat, name=f"s{place}") for place, stat in enumerate(OF_ONE)))
    assert found.problems == ()
    for each, (stat, reference) in zip(found.values, OF_ONE.items(), strict=True):
        assert math.isclose(each.value, float(reference(values)), rel_tol=1e-9), stat


@pytest.mark.parametrize("sample", [each for each in SAMPLES if "very" not in each])
def test_statistics_of_two_columns_equal_scipys(sample: str) -> None:
    x = SAMPLES[sample]()
    y = 0.4 * x + RNG.normal(0, float(np.std(x)), len(x))
    found = recomputed(
        csv_of(x=x, y=y), *(spec(stat, ("x", "y"), name=f"s{place}") for place, stat in enumerate(OF_TWO))
    )
    assert found.problems == ()
    for each, (stat, reference) in zip(found.values, OF_TWO.items(), strict=True):
        assert math.isclose(each.value, float(reference(x, y)), rel_tol=1e-9, abs_tol=1e-12), stat


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(FINITE, min_size=2, max_size=60))
@settings(max_examples=examples(100), deadline=None)
@pytest.mark.slow
def test_sums_and_means_are_the_doubles_nearest_to_the_exact_ones(values: list[float]) -> None:
    exact = sum(map(Fraction, values), Fraction())
    assume(abs(exact) < Fraction(1.7e308))
    found = recomputed(csv_of(x=values), spec("sum"), spec("mean", name="mean"))
    assert [each.value for each in found.values] == [float(exact), float(exact / len(values))]


@given(st.lists(st.floats(-1e12, 1e12), min_size=2, max_size=40), st.integers(-900, 900))
@settings(max_examples=examples(100), deadline=None)
@pytest.mark.slow
def test_a_standard_deviation_equals_the_exact_one_at_every_scale(values: list[float], exponent: int) -> None:
    scaled = [math.ldexp(each, exponent) for each in values]
    assume(all(math.ldexp(each, -exponent) == value for each, value in zip(scaled, values, strict=True)))
    mean = sum(map(Fraction, values)) / len(values)
    variance = sum((Fraction(each) - mean) ** 2 for each in values) / (len(values) - 1)
    expected = math.ldexp(math.sqrt(variance), exponent) if variance > 1e-300 else None
    assume(expected is not None and expected > 1e-290)
    assert math.isclose(value(csv_of(x=scaled), spec("std")), expected or 0, rel_tol=1e-12)


@given(st.lists(FINITE, min_size=1, max_size=30), st.floats(0, 1))
@settings(max_examples=examples(60), deadline=None)
@pytest.mark.slow
def test_quantiles_lie_between_their_neighbours(values: list[float], q: float) -> None:
    found = value(csv_of(x=values), spec("quantile", q=q))
    index = (len(values) - 1) * q
    assert sorted(values)[math.floor(index)] <= found <= sorted(values)[math.ceil(index)]


@pytest.mark.parametrize(
    ("stat", "values", "expected"),
    [
        ("mean", [1e16, 1.0, -1e16], 1 / 3),
        ("sum", [1e300, 1.0, -1e300], 1.0),
        ("mean", [1.7e308, 1.7e308], 1.7e308),
        ("std", [1e300, -1e300], math.sqrt(2) * 1e300),
        ("std", [5e-324, 0.0], 5e-324),
        ("var", [1e9 + 1e-6, 1e9 + 2e-6], float((Fraction(1e9 + 2e-6) - Fraction(1e9 + 1e-6)) ** 2 / 2)),
        ("median", [-1.7e308, 1.7e308], 0.0),
        ("n_unique", [0.0, -0.0, 1.0], 2.0),
    ],
)
def test_nasty_numbers_lose_nothing(stat: str, values: list[float], expected: float) -> None:
    assert value(csv_of(x=values), spec(stat)) == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("stat", "values"),
    [
        ("sum", [1.7e308, 1.7e308]),
        ("var", [1e300, -1e300]),
        ("std", [1.0]),
        ("std", [1.7e308, -1.7e308]),
    ],
)
def test_what_no_double_holds_is_undefined_and_no_infinity(stat: str, values: list[float]) -> None:
    assert code(csv_of(x=values), spec(stat)) == "undefined"


@pytest.mark.parametrize("stat", OF_TWO)
def test_a_constant_column_has_no_correlation(stat: str) -> None:
    assert code(csv_of(x=[2.0, 2.0, 2.0], y=[1.0, 2.0, 3.0]), spec(stat, ("x", "y"))) == "undefined"
    assert code(csv_of(x=[2.0], y=[1.0]), spec(stat, ("x", "y"))) == "undefined"
    assert value(csv_of(x=[1.0, 2.0], y=[5.0, 5.0]), spec("slope", ("x", "y"))) == 0


def test_parquet_keeps_integers_above_2_to_the_53_distinct() -> None:
    values = [2**60 + 1, 2**60 + 2, 2**60 + 3]
    found = recomputed(
        parquet({"x": values, "y": [1, 2, 3]}),
        spec("std", name="std"),
        spec("n_unique", name="n"),
        spec("pearson", ("x", "y"), name="r"),
        spec("slope", ("x", "y"), name="slope"),
        spec("count", None, name="one", where=[{"column": "x", "op": "gt", "value": float(2**60)}]),
        spec("mean", name="mean"),
        name="data.parquet",
    )
    assert {each.name: each.value for each in found.values} == {
        "std": 1, "n": 3, "r": 1, "slope": 1, "one": 3, "mean": float(2**60 + 2),
    }  # fmt: skip


def test_every_double_is_read_as_it_is_written() -> None:
    values = [struct.unpack("d", RNG.bytes(8))[0] for _ in range(1_000)]
    finite = [each for each in values if math.isfinite(each)]
    assert value(csv_of(x=finite), spec("n_unique")) == len(set(finite))
    for index, each in enumerate(finite[:10]):
        assert value(f"i,x\n{index},{each:.20e}\n", spec("max")) == each
