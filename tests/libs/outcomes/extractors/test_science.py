from typing import Any

import pytest

from aex_models.catalog import Requirement
from aex_models.examination import Reconciliation, ReconciliationStatus
from aex_models.results import Provenance
from aex_models.science import ScienceResult
from aex_outcomes import ScienceExtractor
from aex_outcomes.extractors.protocol import MetricValue, PlatformFault, Sourced
from aex_outcomes.extractors.science import SCIENCE
from tests.libs.outcomes.engine.examinations import LOST, concluded, held, refuted, review, violation

BY_DATA = ("values_consistent", "value_mismatches", "claims_not_recomputed")
BY_REVIEW = ("answers_question", "reasoning_sound", "scientific_validity", "review_confidence")


async def metrics(science: ScienceResult) -> dict[str, MetricValue]:
    return await ScienceExtractor().extract({}, {}, {SCIENCE: science.model_dump(mode="json")})


def value(found: MetricValue | None) -> Any:
    return found.value if isinstance(found, Sourced) else found


async def test_examination_yields_counts() -> None:
    found = await metrics(refuted())
    names = ("values_plausible", "domain_violations", *BY_DATA)
    assert [value(found[name]) for name in names] == [False, 1, False, 1, 0]


async def test_unchecked_candidate_has_no_counts_but_of_claims() -> None:
    found = await metrics(concluded())
    assert set(found) == {*BY_REVIEW, "claims_not_recomputed"}
    assert all(isinstance(found[name], PlatformFault) for name in BY_REVIEW)
    assert value(found["claims_not_recomputed"]) == 0
    assert "claims_not_recomputed" not in await metrics(concluded(checks=("value_ranges",)))
    listed = (Reconciliation(name="a", status=ReconciliationStatus.MISMATCH, recomputed=1.0),)
    no_number = await metrics(concluded(False, values_consistent=False, claims=1, reconciliation=listed))
    assert value(no_number["value_mismatches"]) == 1


async def test_claims_without_recomputation_are_counted_and_inconsistent() -> None:
    claims = (held("a", "not_recomputed", found=None), held("b", "not_recomputed", found=None))
    found = await metrics(concluded(claims=2, reconciliation=claims))
    assert value(found["claims_not_recomputed"]) == 2
    assert "values_consistent" not in found
    assert "value_mismatches" not in found


@pytest.mark.parametrize(
    ("secrets", "provenance", "secret"),
    [
        ((True, True), Provenance.COMPUTED, True),
        ((True, False), Provenance.SELF_REPORTED, True),
        ((False, False), Provenance.SELF_REPORTED, False),
    ],
)
async def test_consistency_is_computed_where_all_data_are_the_consumers_and_secret_where_any_are(
    secrets: tuple[bool, ...], provenance: Provenance, secret: bool
) -> None:
    listed = tuple(held(f"s{number}", secret=each) for number, each in enumerate(secrets))
    found = await metrics(concluded(values_consistent=True, claims=2, reconciliation=listed))
    for name in BY_DATA:
        report = found[name]
        assert isinstance(report, Sourced)
        assert (report.provenance, report.secret) == (provenance, secret)


async def test_a_violation_found_in_the_consumers_own_data_makes_the_metric_secret() -> None:
    own = violation("fitness_mean_near_zero", -1.4, source="sanity_check", secret=True)
    for violations, secret in (((violation(),), False), ((violation(), own), True)):
        found = await metrics(concluded(False, values_plausible=False, domain_violations=violations))
        assert found["domain_violations"] == Sourced(len(violations), Provenance.COMPUTED, secret)


async def test_with_the_consumers_data_lost_the_platform_is_to_blame() -> None:
    found = await metrics(concluded(None, problems=(LOST,), claims=1))
    for name in ("values_plausible", "domain_violations", *BY_DATA):
        fault = found[name]
        assert isinstance(fault, PlatformFault)
        assert fault.code == "artifact_missing"


@pytest.mark.parametrize(("validity", "score"), [("valid", 1.0), ("questionable", 0.5), ("invalid", 0.0)])
async def test_review_yields_numbers(validity: str, score: float) -> None:
    found = await metrics(concluded(review=review(scientific_validity=validity)))
    assert [found[name] for name in BY_REVIEW] == [True, True, score, 0.97]


async def test_lowered_review_answers_no_question_and_unanswered_questions_are_missing() -> None:
    for verdict in ("wrong_answer", "does_not_answer"):
        found = await metrics(concluded(False, review=review(outcome_verdict=verdict)))
        assert found["answers_question"] is False
    found = await metrics(concluded(review=review(reasoning_sound=None, answers_original_question=None)))
    assert not {"reasoning_sound", "answers_question"} & set(found)


@pytest.mark.parametrize("failure", ["review_unparsable", "reviewer_unreachable"])
async def test_a_review_that_could_not_be_had_is_the_platforms_fault(failure: str) -> None:
    found = await metrics(concluded(None, review_failure=failure))
    for name in BY_REVIEW:
        fault = found[name]
        assert isinstance(fault, PlatformFault)
        assert fault.code == failure


def test_each_metric_says_what_the_work_has_to_demand_for_it() -> None:
    entries = {each.name: each for each in ScienceExtractor().catalog_entries()}
    assert sorted(entries) == sorted(ScienceExtractor().supported_metrics())
    checks = {name: set(each.requires) - {Requirement.SCIENCE} for name, each in entries.items()}
    assert all(Requirement.SCIENCE in each.requires for each in entries.values())
    by_ranges = {name for name, needed in checks.items() if needed == {Requirement.VALUE_RANGES}}
    assert by_ranges == {"values_plausible", "domain_violations"}
    assert {name for name, needed in checks.items() if needed == {Requirement.RECOMPUTE_STATISTICS}} == set(BY_DATA)
    assert {name for name, needed in checks.items() if needed == {Requirement.PEER_REVIEW}} == set(BY_REVIEW)
    assert {name for name, each in entries.items() if each.secret} == set(BY_REVIEW), "a reader may know secrets"
