import math

import pytest

from aex_models.domains import Domain
from aex_models.examination import DataProblem, Fault
from aex_models.statistics import Filter, FilterOp, Statistic
from aex_outcomes import DomainRegistry
from aex_outcomes.science.sanity import build_sanity_specs, find_failed_sanity_checks

[DMS] = [each for each in DomainRegistry.load().domains if each.name == "bioinformatics/DMS"]
FINE = {"sanity.fitness_mean_near_zero": -0.4, "sanity.no_extreme_outliers": 0.0}


def test_each_check_is_a_statistic_of_the_score_column() -> None:
    mean, outliers = build_sanity_specs(DMS, "log2_enrichment")
    assert (mean.name, mean.stat, mean.column) == ("sanity.fitness_mean_near_zero", Statistic.MEAN, "log2_enrichment")
    assert (outliers.stat, outliers.column) == (Statistic.COUNT, "log2_enrichment")
    assert outliers.where == (Filter(column="log2_enrichment", op=FilterOp.GT, value=5, abs=True),)


@pytest.mark.parametrize("value", [-0.4, 1.0, -1.0, 1.01, -1.01, math.nan, math.inf])
def test_mean_far_from_zero_is_a_finding(value: float) -> None:
    found = find_failed_sanity_checks(DMS, FINE | {"sanity.fitness_mean_near_zero": value})
    assert [each.name for each in found] == ([] if abs(value) <= 1 else ["fitness_mean_near_zero"])
    assert all((each.value is None) is not math.isfinite(value) for each in found)


def test_outlier_is_a_finding_with_description() -> None:
    [found] = find_failed_sanity_checks(DMS, FINE | {"sanity.no_extreme_outliers": 1.0}, secret=True)
    assert (found.value, found.min, found.max, found.source, found.secret) == (1.0, None, 0.0, "sanity_check", True)
    assert found.message == "No score lies further from 0 than 5; the count should be at most 0: it is 1.0"


def test_uncomputed_check_fails_only_where_demanded() -> None:
    assert find_failed_sanity_checks(DMS, {}) == ()
    [found] = find_failed_sanity_checks(DMS, {}, demanded=("value_ranges", "no_extreme_outliers"))
    assert (found.name, found.value) == ("no_extreme_outliers", None)
    assert "could not be computed from the data" in found.message


@pytest.mark.parametrize("name", ["sanity.no_extreme_outliers", None])
def test_platform_fault_is_no_violation(name: str | None) -> None:
    demanded = ("no_extreme_outliers",)
    lost = DataProblem(code="artifact_missing", message="lost", name=name, fault=Fault.PLATFORM)
    assert find_failed_sanity_checks(DMS, {}, [lost], demanded=demanded) == ()
    assert (
        len(find_failed_sanity_checks(DMS, {}, [lost.model_copy(update={"fault": Fault.AGENT})], demanded=demanded))
        == 1
    )
    assert len(find_failed_sanity_checks(DMS, {"sanity.no_extreme_outliers": 9.0}, [lost])) == 1


def test_values_within_both_bounds_pass() -> None:
    check = {"name": "c", "description": "In between.", "stat": "mean", "min": 1, "max": 2}
    domain = Domain.model_validate(
        {"name": "x/y", "description": "", "common_columns": ["a"], "sanity_checks": [check]}
    )
    assert [len(find_failed_sanity_checks(domain, {"sanity.c": value})) for value in (0.9, 1, 2, 2.1, -1.5)] == [
        1,
        0,
        0,
        1,
        1,
    ]
    [found] = find_failed_sanity_checks(domain, {"sanity.c": 3})
    assert found.message == "In between; the mean should be at least 1 and at most 2: it is 3"
