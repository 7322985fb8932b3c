"""Criteria in, verdict, score and money out."""

from decimal import Decimal
from typing import Any

import pytest

from aex_models.contract import Terms
from aex_models.cost import cost
from aex_models.governance import Action
from aex_models.results import Provenance, Verdict, VerificationResult
from aex_outcomes import VerificationEngine
from tests.libs.outcomes.engine.builders import NOW, SAMPLES, Still, criteria, criterion, lengths, money, verify


async def test_a_work_without_criteria_passes_as_delivered() -> None:
    found = await verify(None, {"anything": 1})
    assert (found.verdict, found.success, money(found)) == (Verdict.PASSED, True, (0, 0))
    assert found.governance.action is Action.SKIPPED
    assert found.criterion_results == ()


async def test_a_missing_required_metric_fails_all() -> None:
    wanted = criteria(criterion("output_length", "gte", 1), criterion("accuracy", "gte", 0.0, metric_type="accuracy"))
    found = await verify(wanted, {"text": "abc"}, evaluation={"ground_truth": ["a"]})
    assert [each.met for each in found.criterion_results] == [True, False]
    assert found.verdict is Verdict.REJECTED


async def test_a_missing_heavy_metric_lowers_the_weighted_score() -> None:
    wanted = criteria(
        criterion("output_length", "gte", 1),
        criterion("latency_ms", "lte", 500, weight=9),
        aggregation="weighted",
        minimum_weighted_score=0.5,
    )
    found = await verify(wanted, {"text": "abc"})
    assert (found.weighted_score, found.verdict) == (0.1, Verdict.REJECTED)


async def test_a_minimum_of_0_is_respected() -> None:
    found = await verify(lengths(100, aggregation="weighted", minimum_weighted_score=0.0), {"text": "abc"})
    assert (found.weighted_score, found.verdict) == (0.0, Verdict.PASSED)


async def test_a_bonus_cap_of_0_pays_no_bonus() -> None:
    found = await verify(criteria(criterion("output_length", "gte", 1, bonus="5")), {"text": "abc"})
    assert found.bonus == 5
    amounts = cost(Terms(cpc_rate=Decimal(1), max_cpa_total=Decimal(0)), found)
    assert [float(each) for each in (amounts.bonus, amounts.bonus_capped, amounts.total)] == [0, 5, 1]


@pytest.mark.parametrize(("policy", "bonus"), [("on_success", 0), ("per_criterion", 3)])
async def test_a_failed_outcome_has_a_bonus_only_per_criterion(policy: str, bonus: int) -> None:
    wanted = criteria(
        criterion("output_length", "gte", 1, bonus="3"),
        criterion("word_count", "gte", 99, penalty="1"),
        bonus_policy=policy,
    )
    found = await verify(wanted, {"text": "abc"})
    assert (found.verdict, money(found)) == (Verdict.REJECTED, (bonus, 1))


async def test_the_result_tells_where_every_value_comes_from_and_names_only_what_criteria_name() -> None:
    wanted = criteria(
        criterion("latency_ms", "lte", 500),
        criterion("word_count", "gte", 1),
        criterion("platform_latency_ms", "lte", 9),
    )
    engine = VerificationEngine(clock=Still())
    metadata = {"duration_ms": 5, "ttfb_ms": 1}
    found = await verify(wanted, {"text": "a"}, engine=engine, execution_metadata=metadata, platform_latency_ms=8)
    assert found.metrics == {"latency_ms": 5, "word_count": 1, "platform_latency_ms": 8}
    assert found.provenance == {
        "latency_ms": Provenance.SELF_REPORTED,
        "word_count": Provenance.COMPUTED,
        "platform_latency_ms": Provenance.MEASURED,
    }
    assert found.engine_version == engine.catalog.engine_version
    assert found.verified_at == NOW
    assert VerificationResult.model_validate_json(found.model_dump_json()) == found


@pytest.mark.parametrize(("aggregation", "expected"), [("all", [True, True, False]), ("any", [False, True, False])])
async def test_results_carry_the_effective_required(aggregation: str, expected: list[bool]) -> None:
    wanted = criteria(
        criterion(threshold=1), criterion(threshold=2, required=True), criterion(threshold=3, required=False),
        aggregation=aggregation,
    )  # fmt: skip
    found = await verify(wanted, {"text": "abc"})
    assert [each.required for each in found.criterion_results] == expected


async def test_a_criterion_is_told_apart_from_another_by_its_weight_alone_in_the_score() -> None:
    found = await verify(lengths(1, 2, 99, aggregation="any"), {"text": "abc"})
    assert found.weighted_score == pytest.approx(2 / 3)
    assert found.success


async def test_a_repeated_verification_is_answered_from_memory_and_is_the_same() -> None:
    engine = VerificationEngine({"extractors": {"mine": {"class": f"{SAMPLES}:Sample"}}}, clock=Still())
    wanted = criteria(criterion("shouting", "eq", 0.5), criterion("output_length", "gte", 1))
    first = await verify(wanted, {"text": "a"}, engine=engine)
    extractor: Any = engine.catalog.extractors["mine"]
    extractor.value = 0.9
    again = await verify(wanted, {"text": "a"}, engine=engine)
    assert again.model_copy(update={"verification_id": first.verification_id}) == first
    assert not (await verify(wanted, {"text": "another"}, engine=engine)).success
