"""Sanity checks: what is computed for them, and what their values say."""

import math

import pytest

from aex_models.domains import Domain
from aex_models.examination import DataProblem
from aex_models.faults import Fault
from aex_models.statistics import Filter, FilterOp, Statistic
from aex_outcomes import DomainRegistry
from aex_outcomes.science.sanity import sanity_findings, sanity_specs

DMS = DomainRegistry.load().get("bioinformatics/DMS")
assert DMS is not None
FINE = {"sanity.fitness_mean_near_zero": -0.4, "sanity.no_extreme_outliers": 0.0}


def failed(**values: float) -> list[str]:
    assert DMS is not None
    given = {f"sanity.{name}": value for name, value in values.items()}
    return [each.name for each in sanity_findings(DMS, FINE | given)]


def test_each_check_is_a_statistic_of_the_score_column() -> None:
    assert DMS is not None
    mean, outliers = sanity_specs(DMS, "log2_enrichment")
    assert (mean.name, mean.stat, mean.column) == (
        "sanity.fitness_mean_near_zero",
        Statistic.MEAN,
        "log2_enrichment",
    )
    assert (outliers.stat, outliers.column) == (Statistic.COUNT, "log2_enrichment")
    assert outliers.where == (Filter(column="log2_enrichment", op=FilterOp.GT, value=5, abs=True),)


def test_sound_data_fail_nothing() -> None:
    assert failed() == []
    assert failed(fitness_mean_near_zero=1.0) == failed(fitness_mean_near_zero=-1.0) == []


@pytest.mark.parametrize("value", [1.01, -1.01, 11.17, math.nan, math.inf])
def test_a_mean_far_from_zero_is_a_finding(value: float) -> None:
    assert failed(fitness_mean_near_zero=value) == ["fitness_mean_near_zero"]


def test_one_outlier_is_a_finding_and_told_in_words() -> None:
    assert DMS is not None
    [found] = sanity_findings(DMS, FINE | {"sanity.no_extreme_outliers": 1.0}, secret=True)
    assert (found.value, found.min, found.max, found.source, found.secret) == (1.0, None, 0.0, "sanity_check", True)
    assert found.message == "No score lies further from 0 than 5; the count should be at most 0: it is 1.0"


def test_what_is_no_finite_number_has_no_value_in_the_finding() -> None:
    assert DMS is not None
    [found] = sanity_findings(DMS, FINE | {"sanity.fitness_mean_near_zero": math.nan})
    assert found.value is None


def test_what_could_not_be_computed_failed_only_where_it_is_demanded() -> None:
    assert DMS is not None
    assert sanity_findings(DMS, {}) == ()
    [found] = sanity_findings(DMS, {}, demanded=("value_ranges", "no_extreme_outliers"))
    assert (found.name, found.value) == ("no_extreme_outliers", None)
    assert "could not be computed from the data" in found.message


@pytest.mark.parametrize("name", ["sanity.no_extreme_outliers", None])
def test_what_the_platform_is_to_blame_for_is_nobody_s_violation(name: str | None) -> None:
    assert DMS is not None
    demanded = ("no_extreme_outliers",)
    lost = DataProblem(code="artifact_missing", message="lost", name=name, fault=Fault.PLATFORM)
    assert sanity_findings(DMS, {}, [lost], demanded=demanded) == ()
    assert len(sanity_findings(DMS, {}, [lost.model_copy(update={"fault": Fault.AGENT})], demanded=demanded)) == 1
    assert len(sanity_findings(DMS, {"sanity.no_extreme_outliers": 9.0}, [lost])) == 1


def test_both_bounds_hold_and_signs_count_unless_the_check_says_otherwise() -> None:
    domain = Domain.model_validate(
        {
            "name": "x/y",
            "description": "",
            "common_columns": ["a"],
            "sanity_checks": [{"name": "c", "description": "In between.", "stat": "mean", "min": 1, "max": 2}],
        }
    )
    assert [len(sanity_findings(domain, {"sanity.c": value})) for value in (0.9, 1, 2, 2.1, -1.5)] == [1, 0, 0, 1, 1]
    [found] = sanity_findings(domain, {"sanity.c": 3})
    assert found.message == "In between; the mean should be at least 1 and at most 2: it is 3"
