"""Success is what the criteria and a named verifier agree on."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.criteria import BonusPolicy
from aex_models.faults import Fault
from aex_models.results import CriterionError, Verdict, VerificationResult
from aex_outcomes.engine.combining import rejected_alone, under_verifier
from aex_outcomes.engine.incentives import verified_penalty
from aex_outcomes.lifecycle.ruling import Accepted, Rejected, Rejection
from tests.libs.outcomes.engine.builders import lengths, money, result, verify

ON_SUCCESS, PER_CRITERION = BonusPolicy.ON_SUCCESS, BonusPolicy.PER_CRITERION
ACCEPTED = Accepted(final_result={"a": 1})
REJECTED = Rejected(rejection=Rejection(message="too dull"))
FATAL = Rejected(rejection=Rejection(message="hopeless"), fatal=True)
PLATFORM = CriterionError(code="extractor_failed", fault=Fault.PLATFORM)


async def judged(bounds: tuple[int, ...], aggregation: str, policy: BonusPolicy) -> VerificationResult:
    """Three characters against lower bounds on their number; each criterion met is worth 1, each unmet one 0.5."""
    listed = lengths(*bounds, aggregation=aggregation, bonus_policy=policy)
    paid = [each.model_copy(update={"bonus": Decimal(1), "penalty": Decimal("0.5")}) for each in listed.criteria]
    return await verify(listed.model_copy(update={"criteria": tuple(paid)}), {"text": "abc"})


@pytest.mark.parametrize("policy", list(BonusPolicy))
@pytest.mark.parametrize("ruling", [REJECTED, FATAL])
@pytest.mark.parametrize(
    ("aggregation", "bounds", "met"), [("all", (1, 2), 2), ("any", (1, 9), 1), ("weighted", (1, 2, 9), 2)]
)
async def test_a_rejection_takes_success_and_the_bonus_that_depends_on_it_in_every_aggregation(
    aggregation: str, bounds: tuple[int, ...], met: int, ruling: Rejected, policy: BonusPolicy
) -> None:
    engine = await judged(bounds, aggregation, policy)
    assert (engine.verdict, money(engine)[0]) == (Verdict.PASSED, met)
    found = under_verifier(engine, ruling, policy)
    assert (found.verdict, found.success) == (Verdict.REJECTED, False)
    assert money(found) == (met if policy is PER_CRITERION else 0, 0.5 * (len(bounds) - met))
    assert (found.criterion_results, found.weighted_score) == (engine.criterion_results, engine.weighted_score)


@pytest.mark.parametrize("policy", list(BonusPolicy))
@pytest.mark.parametrize("aggregation", ["all", "any", "weighted"])
@pytest.mark.parametrize("bounds", [(1, 2), (1, 9), (8, 9)])
async def test_what_the_verifier_accepts_is_as_the_criteria_say(
    aggregation: str, bounds: tuple[int, ...], policy: BonusPolicy
) -> None:
    engine = await judged(bounds, aggregation, policy)
    assert under_verifier(engine, ACCEPTED, policy) == engine


@pytest.mark.parametrize("policy", list(BonusPolicy))
async def test_what_the_criteria_reject_stays_as_they_rejected_it(policy: BonusPolicy) -> None:
    engine = await judged((1, 9), "all", policy)
    assert money(engine) == (1 if policy is PER_CRITERION else 0, 0.5)
    assert under_verifier(engine, REJECTED, policy) == engine


@pytest.mark.parametrize("ruling", [ACCEPTED, REJECTED, FATAL])
def test_what_the_platform_could_not_tell_stays_open_whatever_the_verifier_says(ruling: Any) -> None:
    torn = result(True, PLATFORM, verdict=Verdict.INDETERMINATE, success=False)
    assert under_verifier(torn, ruling, PER_CRITERION) == torn


def test_where_the_platform_gives_up_on_the_criteria_a_rejection_alone_decides_and_costs_nobody_anything() -> None:
    torn = result(True, False, PLATFORM, verdict=Verdict.INDETERMINATE, success=False)
    torn = torn.model_copy(update={"bonus": Decimal(1), "penalty": Decimal(1)})
    found = rejected_alone(torn)
    assert (found.verdict, found.success, money(found)) == (Verdict.REJECTED, False, (0, 0))
    assert found.criterion_results == torn.criterion_results


async def test_a_work_without_criteria_succeeds_as_its_verifier_says() -> None:
    delivered = await verify(None, {"text": "abc"})
    assert under_verifier(delivered, Accepted()).success
    assert under_verifier(delivered, REJECTED).verdict is Verdict.REJECTED


@given(met=st.lists(st.booleans(), max_size=6), policy=st.sampled_from(BonusPolicy), fatal=st.booleans())
def test_a_rejected_result_never_pays_more_than_the_policy_allows_and_keeps_its_penalty(
    met: list[bool], policy: BonusPolicy, fatal: bool
) -> None:
    passed = result(*met).model_copy(update={"bonus": Decimal(sum(met))})
    passed = passed.model_copy(update={"penalty": verified_penalty(passed.criterion_results)})
    found = under_verifier(passed, FATAL if fatal else REJECTED, policy)
    assert found.bonus == (sum(met) if policy is PER_CRITERION else 0)
    assert found.penalty == passed.penalty
    assert not found.success
