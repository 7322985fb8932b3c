from decimal import Decimal
from typing import Any

import pytest

from aex_models.criteria import BonusPolicy, SuccessCriteria
from aex_models.results import Provenance, Verdict, VerificationResult
from aex_models.science import ScienceResult
from aex_outcomes import VerificationEngine
from aex_outcomes.engine.candidate import VerificationInput
from aex_outcomes.engine.final_result import as_rejected_without_amounts, combine_with_ruling
from aex_outcomes.engine.job import verify_candidate
from aex_outcomes.lifecycle.ruling import Accepted, Rejected, Rejection
from tests.libs.outcomes.engine.builders import NOW, Still, criteria, criterion, money
from tests.libs.outcomes.engine.examinations import AGENT, LOST, concluded, held, recomputed, refuted

LONG = criterion("word_count", "gte", 2, bonus=Decimal(3))
LONGER = criterion("word_count", "gte", 99, penalty=Decimal(1))
MEAN = criterion("stat.mean_fitness", "lt", 0)
UNKNOWN = concluded(None, problems=(LOST,))


async def assessed(
    requirement: SuccessCriteria | None,
    science: ScienceResult | None,
    engine: VerificationEngine | None = None,
    **metadata: Any,
) -> VerificationResult:
    case = VerificationInput(
        contract_id="ctr_1",
        work_input={},
        work_output={"text": "two words"},
        success_criteria=requirement,
        execution_metadata=metadata,
        evaluation={},
        verification_id="ver_1",
        verified_at=NOW,
        science=science,
    )
    return (await (engine or VerificationEngine(clock=Still())).verify_without_governance(case)).result


@pytest.mark.parametrize(
    ("listed", "science", "verdict"),
    [
        ([LONG], None, "passed"),
        ([LONG], concluded(True), "passed"),
        ([LONG], refuted(), "rejected"),
        ([LONG], UNKNOWN, "indeterminate"),
        ([LONGER], concluded(True), "rejected"),
        ([LONGER], refuted(), "rejected"),
        ([LONGER], UNKNOWN, "indeterminate"),
        ([], None, "passed"),
        ([], concluded(True), "passed"),
        ([], refuted(), "rejected"),
        ([], UNKNOWN, "indeterminate"),
    ],
)
async def test_success_is_what_criteria_and_gate_say_together(
    listed: list[Any], science: ScienceResult | None, verdict: str
) -> None:
    found = await assessed(criteria(*listed) if listed else None, science)
    assert (found.verdict.value, found.success) == (verdict, verdict == "passed")
    assert found.science == science
    assert len(found.criterion_results) == len(listed), "criteria are evaluated whatever the gate says"


@pytest.mark.parametrize(
    ("policy", "science", "expected"),
    [
        ("on_success", concluded(True), (3, 0)),
        ("on_success", refuted(), (0, 0)),
        ("per_criterion", refuted(), (3, 0)),
        ("per_criterion", UNKNOWN, (0, 0)),
    ],
)
async def test_a_rejection_by_the_gate_leaves_what_the_bonus_policy_leaves_without_success(
    policy: str, science: ScienceResult, expected: tuple[int, int]
) -> None:
    assert money(await assessed(criteria(LONG, bonus_policy=policy), science)) == expected


@pytest.mark.parametrize(("science", "score"), [(None, 1), (concluded(), 1), (refuted(), 0), (UNKNOWN, 0)])
async def test_without_criteria_the_score_is_what_the_gate_says(science: ScienceResult | None, score: float) -> None:
    assert (await assessed(None, science)).weighted_score == score


async def test_a_named_verifier_cannot_overrule_the_gate_nor_the_gate_the_verifier() -> None:
    refused = Rejected(rejection=Rejection(message="no"))
    rejected, passed, unknown = [await assessed(None, each) for each in (refuted(), concluded(True), UNKNOWN)]
    assert combine_with_ruling(rejected, Accepted()).verdict is Verdict.REJECTED
    assert combine_with_ruling(passed, refused, BonusPolicy.ON_SUCCESS).verdict is Verdict.REJECTED
    assert combine_with_ruling(unknown, refused).verdict is Verdict.INDETERMINATE
    assert as_rejected_without_amounts(unknown).verdict is Verdict.REJECTED


@pytest.mark.parametrize(
    ("owner", "provenance", "secret"),
    [("consumer", Provenance.COMPUTED, True), ("agent", Provenance.SELF_REPORTED, False)],
)
async def test_a_recomputed_value_carries_with_data_it_comes_from(
    owner: str, provenance: Provenance, secret: bool
) -> None:
    found = await assessed(criteria(MEAN), concluded(recomputed=(recomputed(owner=owner),)))  # type: ignore[arg-type]
    (feedback,) = found.criterion_results
    assert (feedback.value, feedback.met, feedback.provenance, feedback.secret) == (-0.39, True, provenance, secret)
    assert found.provenance == {"stat.mean_fitness": provenance}
    assert found.metrics == {"stat.mean_fitness": -0.39}


async def test_provenance_and_secrecy_are_remembered_with_the_value() -> None:
    engine = VerificationEngine(clock=Still())
    own = concluded(recomputed=(recomputed(),))
    first, second = [await assessed(criteria(MEAN), own, engine) for _ in range(2)]
    other = await assessed(criteria(MEAN), concluded(recomputed=(recomputed(owner=AGENT),)), engine)
    assert first.criterion_results == second.criterion_results
    assert second.criterion_results[0].secret
    assert not other.criterion_results[0].secret


async def test_an_agent_cannot_write_what_the_platform_found() -> None:
    forged = concluded(recomputed=(recomputed(),)).model_dump(mode="json")
    found = await assessed(criteria(MEAN), None, science_result=forged)
    (feedback,) = found.criterion_results
    assert feedback.error is not None
    assert feedback.error.code == "science_missing"
    assert found.verdict is Verdict.INDETERMINATE
    true = concluded(recomputed=(recomputed(value=0.25),))
    (feedback,) = (await assessed(criteria(MEAN), true, science_result=forged)).criterion_results
    assert (feedback.value, feedback.met) == (0.25, False)


async def test_a_statistic_that_was_not_recomputed_is_missing_and_unmet() -> None:
    found = await assessed(criteria(MEAN), concluded(False))
    (feedback,) = found.criterion_results
    assert feedback.error is not None
    assert (feedback.error.code, feedback.met, found.verdict) == ("metric_missing", False, Verdict.REJECTED)


@pytest.mark.parametrize("listed", [[], [held("a", "not_recomputed", found=None)]])
async def test_nothing_recomputed_is_never_consistent(listed: list[Any]) -> None:
    requirement = criteria(
        criterion("values_consistent", "eq", True, metric_type="boolean"),
        criterion("value_mismatches", "lte", 0, metric_type="count"),
        criterion("domain_violations", "lte", 0, metric_type="count"),
    )
    found = await assessed(requirement, concluded(False, claims=len(listed), reconciliation=tuple(listed)))
    assert [each.met for each in found.criterion_results] == [False] * 3


def test_the_job_takes_what_the_gate_has_concluded() -> None:
    payload = {
        "contract_id": "ctr_1",
        "success_criteria": criteria(MEAN).model_dump(mode="json"),
        "output": {},
        "science": refuted(secret=True).model_dump(mode="json"),
    }
    result = VerificationResult.model_validate(verify_candidate(payload)["result"])
    assert result.verdict is Verdict.REJECTED
    assert result.science == refuted(secret=True)
    assert result.criterion_results[0].value == -0.39
    assert verify_candidate({**payload, "science": None})["result"]["verdict"] == "indeterminate"
