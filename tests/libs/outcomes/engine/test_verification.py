from typing import Any

import pytest

from aex_models.governance import Action
from aex_models.results import Provenance, Verdict, VerificationResult
from aex_outcomes import VerificationEngine
from tests.libs.outcomes.engine.builders import NOW, SAMPLES, Deciding, Still, criteria, criterion, money, verify


async def test_a_work_without_criteria_passes_as_delivered() -> None:
    found = await verify(None, {"anything": 1})
    assert (found.verdict, found.success, money(found)) == (Verdict.PASSED, True, (0, 0))
    assert found.governance.action is Action.SKIPPED
    assert found.criterion_results == ()


async def test_the_result_reports_where_every_value_comes_from_and_names_only_what_criteria_name() -> None:
    requirement = criteria(
        criterion("latency_ms", "lte", 500),
        criterion("word_count", "gte", 1),
        criterion("platform_latency_ms", "lte", 9),
    )
    engine = VerificationEngine(clock=Still())
    metadata = {"duration_ms": 5, "ttfb_ms": 1}
    found = await verify(requirement, {"text": "a"}, engine=engine, execution_metadata=metadata, platform_latency_ms=8)
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
    requirement = criteria(
        criterion(threshold=1), criterion(threshold=2, required=True), criterion(threshold=3, required=False),
        aggregation=aggregation,
    )  # fmt: skip
    found = await verify(requirement, {"text": "abc"})
    assert [each.required for each in found.criterion_results] == expected


async def test_a_repeated_verification_is_answered_from_memory_and_is_the_same() -> None:
    engine = VerificationEngine({"extractors": {"mine": {"class": f"{SAMPLES}:Sample"}}}, clock=Still())
    requirement = criteria(criterion("shouting", "eq", 0.5), criterion("output_length", "gte", 1))
    first = await verify(requirement, {"text": "a"}, engine=engine)
    extractor: Any = engine.catalog.extractors["mine"]
    extractor.value = 0.9
    second = await verify(requirement, {"text": "a"}, engine=engine)
    assert second.model_copy(update={"verification_id": first.verification_id}) == first
    assert not (await verify(requirement, {"text": "another"}, engine=engine)).success


@pytest.mark.parametrize("policy", ["on_success", "per_criterion"])
@pytest.mark.parametrize("action", ["hold", "reject"])
async def test_what_governance_does_not_allow_has_neither_success_nor_bonus(policy: str, action: str) -> None:
    engine = VerificationEngine(governance=Deciding(action))
    expected = criteria(criterion("output_length", "gte", 1, bonus="3"), bonus_policy=policy)
    found = await verify(expected, {"text": "abc"}, engine=engine)
    assert (found.verdict, found.success, money(found)) == (Verdict.PASSED, False, (0, 0))
    assert found.governance_flags == ("velocity",)


async def test_governance_gets_what_the_engine_computed_and_never_the_evaluation_data() -> None:
    governance = Deciding("allow")
    found = await verify(
        criteria(criterion("contains_keywords", "gte", 0.5, metric_type="contains")),
        {"text": "the cat sat on the mat"},
        engine=VerificationEngine(governance=governance),
        evaluation={"reference": "the cat sat on a mat, hush", "required_keywords": ["cat", "hush"]},
        execution_metadata={"duration_ms": 5},
        platform_latency_ms=7.0,
    )
    [facts] = governance.feedback
    assert found.success
    assert facts.extracted_metrics == {"contains_keywords": 0.5}
    assert facts.output_text == "the cat sat on the mat"
    assert facts.reference_similarity is not None
    assert facts.reference_similarity.rouge_l is not None
    assert 0.7 < facts.reference_similarity.rouge_l < 1
    assert facts.keyword_stats is not None
    assert facts.keyword_stats.found == 1
    assert (facts.execution_metadata, facts.platform_latency_ms) == ({"duration_ms": 5}, 7.0)
    assert "hush" not in str(facts)


async def test_governance_is_not_called_for_an_indeterminate_verdict_nor_where_it_is_switched_off() -> None:
    governance = Deciding("allow")
    torn = criteria(criterion("platform_latency_ms", "lte", 500))
    assert (await verify(torn, {}, engine=VerificationEngine(governance=governance))).verdict is Verdict.INDETERMINATE
    switched_off = VerificationEngine({"verification": {"governance_check": False}}, governance)
    assert (await verify(None, {}, engine=switched_off)).governance.action is Action.SKIPPED
    assert governance.feedback == []
