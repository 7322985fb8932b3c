import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.domains import Domain, ValueRange
from aex_models.numbers import JsonFloat
from aex_models.science import Constraint
from aex_outcomes import DomainRegistry
from aex_outcomes.science.ranges import check_claims

REGISTRY = DomainRegistry.load()
DMS, RNASEQ, MD, CORRELATION = (
    REGISTRY.get(name)
    for name in ("bioinformatics/DMS", "bioinformatics/RNAseq", "molecular-dynamics", "statistics/correlation")
)


def checked(name: str, value: Any, domain: Domain | None = DMS, **constraints: Constraint) -> str:
    found = check_claims({name: value}, domain, constraints)
    assert found.in_range + len(found.unchecked) <= 1
    assert all(each.name == name for each in found.violations)
    assert not (found.violations and found.unchecked)
    parts = {"violated": found.violations, "unchecked": found.unchecked, "fine": found.in_range, "unbounded": True}
    return next(result for result, part in parts.items() if part)


@pytest.mark.parametrize(
    "name",
    [
        *("fitness_score", "fitness", "mut_score", "Fitness_Score", "fitnessScore", "FITNESS"),
        *("mean_fitness", "fitness_mean", "median_fitness", "fitness_median", "min_fitness", "max_fitness"),
        *("mean_fitness_score", "average_fitness", "avg_mut_score", "mut_score_mean", "mean_of_fitness"),
        *("q90_fitness", "fitness_p95", "quantile_0.9_fitness", "quantile_90_fitness", "95th_percentile_fitness"),
        *("meanFitness", "MaxMutScore", "mean-fitness", "fitness.mean", "log_fold_change", "log2FC", "mean_lfc"),
    ],
)
def test_a_statistic_of_a_quantity_obeys_its_range(name: str) -> None:
    assert [checked(name, value) for value in (-5, 2, 0, -0.39, 11.17, -5.01)] == ["fine"] * 4 + ["violated"] * 2


@pytest.mark.parametrize("value", [-100.0, 0.0, 1.0, 1e9])
@pytest.mark.parametrize(
    "name",
    [
        *("mean_fitness_treated", "fitness_threshold", "sum_fitness", "total_fitness", "fitness_2", "refitness"),
        *("n_fitness", "mean", "fitnesses", "cost", "unfitness_mean", "mean_growth", "", "_", "x" * 400),
        *("mean_fitness_mean_count", "unique_fitness", "a_b_c_d_e_f_fitness", "mean_max_min_mean_max_fitness"),
    ],
)
def test_a_name_that_is_of_something_else_is_unchecked(name: str, value: float) -> None:
    assert checked(name, value) == "unchecked"


@pytest.mark.parametrize("name", ["std_fitness", "fitness_std", "sd_mut_score", "fitness_stdev", "sem_fitness"])
def test_a_standard_deviation_is_not_negative_and_not_larger_than_the_range_allows(name: str) -> None:
    widest = 7 / math.sqrt(2)  # of a sample of the two ends, -5 and 2
    values = (-0.01, 0, 1, widest, widest + 0.01)
    assert [checked(name, value) for value in values] == ["violated", "fine", "fine", "fine", "violated"]


def test_other_spreads_follow_from_the_range_and_counts_are_natural_numbers() -> None:
    assert [checked("var_fitness", value) for value in (-1, 24.5, 24.6)] == ["violated", "fine", "violated"]
    assert [checked("fitness_iqr", value) for value in (-1, 7, 7.1)] == ["violated", "fine", "violated"]
    assert [checked("max_abs_fitness", value) for value in (-1, 5, 5.1)] == ["violated", "fine", "violated"]
    assert [checked("std_tpm", value, RNASEQ) for value in (-1, 1e6)] == ["violated", "fine"]
    for name in ("count_fitness", "fitness_count", "number_of_fitness", "n_unique_fitness"):
        assert [checked(name, value) for value in (-1, 3.5, 0, 1_000)] == ["violated"] * 2 + ["unchecked"] * 2


@pytest.mark.parametrize(
    ("domain", "name", "good", "bad"),
    [
        (RNASEQ, "min_p_value", 0, -0.1),
        (RNASEQ, "pValue", 1, 5),
        (RNASEQ, "log2_fold_change_max", 15, 16),
        (MD, "temperature", 300, -1),
        (MD, "pressure_mean", 1e5, -1),
        (CORRELATION, "r", -1, -1.1),
        (CORRELATION, "pearson_r", 1.0000000000000002, 1.0000001),  # rounding of doubles
        (CORRELATION, "p_value", -1e-16, -1e-7),
        (CORRELATION, "r2", 0, -0.5),
    ],
)
def test_claim_must_lie_in_the_range_of_its_domain(domain: Domain, name: str, good: float, bad: float) -> None:
    assert (checked(name, good, domain), checked(name, bad, domain)) == ("fine", "violated")


def test_a_quantity_without_bounds_is_neither_checked_nor_unchecked() -> None:
    for name in ("energy", "mean_energy", "energy_max"):
        assert [checked(name, value, MD) for value in (-1e300, 0, 1e300)] == ["unbounded"] * 3
        assert checked(name, math.nan, MD) == "violated"
    assert checked("std_energy", 1, MD) == "fine"
    assert checked("energy", 1, MD, energy=Constraint(typical=1)) == "unbounded"
    assert checked("energy", 1, MD, energy=Constraint(max=5)) == "fine"
    found = check_claims({"energy": -3, "rmsd": 2, "novelty": 1}, MD, {})
    assert (found.in_range, found.unchecked) == (1, ("novelty",))


def test_violation_contains_value_range_and_unit() -> None:
    [violation] = check_claims({"mean_fitness": 11.17}, DMS, {}).violations
    assert (violation.name, violation.value, violation.min, violation.max) == ("mean_fitness", 11.17, -5, 2)
    assert violation.source == "domain"
    assert violation.message == "11.17 is outside [-5, 2], the range of fitness_score in bioinformatics/DMS"
    names = ("temperature", "var_temperature", "pressure", "std_rmsd")
    assert [each.message for each in check_claims(dict.fromkeys(names, -3), MD, {}).violations] == [
        "-3 K is outside [0, 1000] K, the range of temperature in molecular-dynamics",
        "-3 (K)² is outside [0, 500000] (K)², the range of the variance of temperature in molecular-dynamics",
        "-3 bar is below 0 bar, the end of the range of pressure in molecular-dynamics",
        "-3 Å is outside [0, 35.35533906] Å, the range of the standard deviation of rmsd in molecular-dynamics",
    ]


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, None, True, False, "1", [], {}, Decimal(1), 10**400, JsonFloat("1e400")]
)
@pytest.mark.parametrize("name", ["mean_fitness", "something_else"])
def test_what_is_no_finite_number_is_a_violation_under_any_name(value: Any, name: str) -> None:
    for domain in (DMS, None):
        [violation] = check_claims({name: value}, domain, {}).violations
        assert (violation.value, violation.message) == (None, "it is no finite number")


def test_constraint_applies_to_exactly_its_name() -> None:
    assert checked("yield", 5, None, **{"yield": Constraint(typical=5)}) == "unchecked"
    assert checked("mean_fitness", 1, mean_fitness=Constraint(typical=5)) == "fine"
    expected = Constraint(min=0, max=5, typical=1)
    assert checked("yield", 5, None, **{"yield": expected}) == "fine"
    assert checked("yield", 5.0000000000000009, None, **{"yield": expected}) == "violated"
    assert checked("mean_yield", 9, None, **{"yield": expected}) == "unchecked"
    assert checked("Yield", 9, None, **{"yield": expected}) == "unchecked"
    [violation] = check_claims({"yield": 9}, DMS, {"yield": expected}).violations
    assert violation.source == "output_constraints"
    assert violation.message == "9 is outside [0, 5], what the work expects"
    [above] = check_claims({"yield": 9}, DMS, {"yield": Constraint(max=5)}).violations
    assert above.message == "9 is above 5, the end of what the work expects"


def test_domain_and_constraint_both_apply() -> None:
    both = check_claims({"mean_fitness": 3}, DMS, {"mean_fitness": Constraint(max=0)})
    assert [each.source for each in both.violations] == ["domain", "output_constraints"]
    assert both.in_range == 1
    assert checked("mean_fitness", 1, mean_fitness=Constraint(max=0)) == "violated"
    assert checked("mean_fitness", 3, mean_fitness=Constraint(max=9)) == "violated"


def test_of_several_quantities_the_longest_name_is_meant() -> None:
    ranges = {"gap": ValueRange(min=0, max=1), "min_gap": ValueRange(min=10, max=20)}
    domain = Domain(name="x/y", description="", value_ranges=ranges)
    assert checked("min_gap", 15, domain) == "fine"
    assert checked("mean_min_gap", 0.5, domain) == "violated"
    assert checked("max_gap", 0.5, domain) == "fine"


NUMBERS = st.floats() | st.integers() | st.none()
NAMES = st.sampled_from(["mean_fitness", "std_fitness", "fitness", "other", "n_fitness", "count_fitness"]) | st.text()


@given(st.dictionaries(NAMES, NUMBERS, max_size=6))
def test_every_claim_is_held_to_something_or_named(claims: dict[str, Any]) -> None:
    found = check_claims(claims, DMS, {"other": Constraint(min=0)})
    violated = {each.name for each in found.violations}
    assert found.in_range == len(claims) - len(found.unchecked)
    assert not violated & set(found.unchecked)
    assert violated | set(found.unchecked) <= set(claims)
    assert all(claims[name] is not None and math.isfinite(claims[name]) for name in found.unchecked)


@given(st.lists(st.floats(min_value=-5, max_value=2), min_size=2, max_size=20))
def test_statistics_of_values_within_the_range_are_never_violations(values: list[float]) -> None:
    ordered, n = sorted(values), len(values)
    mean = math.fsum(values) / n
    var = math.fsum((each - mean) ** 2 for each in values) / (n - 1)
    claims = {
        **{"mean_fitness": mean, "var_fitness": var, "std_fitness": math.sqrt(var), "sem_fitness": math.sqrt(var / n)},
        **{"min_fitness": ordered[0], "max_fitness": ordered[-1], "median_fitness": ordered[n // 2]},
        "fitness_range": ordered[-1] - ordered[0],
        "mean_abs_fitness": math.fsum(map(abs, values)) / n,
    }
    found = check_claims(claims, DMS, {})
    assert (found.violations, found.unchecked) == ((), ())


@given(st.floats(min_value=2.0001, allow_infinity=False) | st.floats(max_value=-5.0001, allow_infinity=False))
def test_no_value_outside_the_range_is_fine(value: float) -> None:
    assert checked("mean_fitness", value) == "violated"
