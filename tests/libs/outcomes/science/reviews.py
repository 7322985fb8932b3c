"""Examinations and reviews that the tests of the gate and of the prompt put together."""

from typing import Any

from aex_models.domains import Domain, ValueRange
from aex_models.examination import (
    DataOwner,
    DataProblem,
    DomainViolation,
    Examination,
    Fault,
    MismatchSeverity,
    Recomputed,
    Reconciliation,
    ReconciliationStatus,
)
from aex_models.science import (
    OutcomeVerdict,
    Recommendation,
    ReviewFailure,
    Science,
    ScientificReview,
    ScientificValidity,
)
from aex_models.statistics import Statistic, StatisticSpec
from aex_outcomes.science.peer_review_port import Reviewed, ReviewedFile
from tests.parts.reviewing import make_accepting_review, make_reviewed

ALL_CHECKS = ("value_ranges", "recompute_statistics", "peer_review")
DMS = Domain(
    name="bioinformatics/DMS",
    description="Deep mutational scanning",
    value_ranges={"fitness_score": ValueRange(min=-5, max=2, typical_mean=0, typical_std=1)},
    common_columns=("mut_score",),
    common_issues=("plotting mutation counts instead of fitness",),
)
FILE = ReviewedFile("scores.csv", DataOwner.AGENT, ("mut_score", "site"))


def science(*names: str, checks: tuple[str, ...] = ALL_CHECKS, strict: bool = True, **more: Any) -> Science:
    mean = StatisticSpec(name="mean", stat=Statistic.MEAN, column="mut_score")
    statistics = tuple(mean.model_copy(update={"name": name}) for name in names)
    return Science(statistics=statistics, checks=checks, strict=strict, **more)


_MISMATCHED = Reconciliation(
    name="mean_fitness", status=ReconciliationStatus.MISMATCH, claimed=11.17, recomputed=-0.39, relative_error=29.6
)


def match(name: str = "mean_fitness") -> Reconciliation:
    matched = {"name": name, "status": ReconciliationStatus.MATCH, "claimed": -0.39, "relative_error": 0}
    return _MISMATCHED.model_copy(update=matched)


def mismatch(severity: MismatchSeverity = MismatchSeverity.CRITICAL, name: str = "mean_fitness") -> Reconciliation:
    return _MISMATCHED.model_copy(update={"name": name, "severity": severity})


def not_recomputed(name: str = "mean_fitness") -> Reconciliation:
    return Reconciliation(name=name, status=ReconciliationStatus.NOT_RECOMPUTED, claimed=1.0)


def not_claimed(name: str = "mean_fitness") -> Reconciliation:
    return Reconciliation(name=name, status=ReconciliationStatus.NOT_CLAIMED, recomputed=-0.39)


def violation(source: str = "domain", name: str = "mean_fitness") -> DomainViolation:
    return DomainViolation(name=name, message="11.17 is above 2", value=11.17, min=-5, max=2, source=source)


def examined(*reconciliation: Reconciliation, **more: Any) -> Examination:
    recomputed = tuple(
        Recomputed(name=each.name, value=each.recomputed, owner=DataOwner.AGENT, artifact="scores.csv")
        for each in reconciliation
        if each.recomputed is not None
    )
    return Examination(reconciliation=reconciliation, recomputed=recomputed, in_range=more.pop("in_range", 1), **more)


def problem(fault: Fault, name: str | None = None) -> DataProblem:
    return DataProblem(code="not_utf8", message="not UTF-8", name=name, artifact="scores.csv", fault=fault)


def review(
    verdict: OutcomeVerdict = OutcomeVerdict.ANSWERS_QUESTION,
    validity: ScientificValidity = ScientificValidity.VALID,
    recommendation: Recommendation = Recommendation.ACCEPT,
    **more: Any,
) -> ScientificReview:
    return make_accepting_review(
        outcome_verdict=verdict, scientific_validity=validity, recommendation=recommendation, **more
    )


def statement(*words: Any, **more: Any) -> Reviewed:
    return make_reviewed(review(*words, **more))


def silent(failure: ReviewFailure) -> Reviewed:
    return make_reviewed(failure)
