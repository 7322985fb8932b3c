"""Where values come from, and which of them can meet a criterion."""

from decimal import Decimal
from typing import Any

import pytest

from aex_models.contract import Terms
from aex_models.cost import cost
from aex_models.faults import Fault
from aex_models.results import Verdict, VerificationResult
from aex_models.work import Evaluation
from aex_outcomes import VerificationEngine
from tests.libs.outcomes.engine.builders import SAMPLES, criteria, criterion, money, verify

LATENCY = {"metric_type": "latency", "bonus": "1", "penalty": "2"}


def returning(value: Any, **more: Any) -> VerificationEngine:
    """An engine with an extractor whose metric `shouting` has this value."""
    settings = {"class": f"{SAMPLES}:Sample", "config": {"value": value, **more}}
    return VerificationEngine({"extractors": {"mine": settings}})


def one(found: VerificationResult) -> Any:
    [only] = found.criterion_results
    return only


@pytest.mark.parametrize("reported", [92, 1.5, -0.1])
async def test_accuracy_92_does_not_meet_at_least_0_9(reported: float) -> None:
    engine = returning(reported, range=(0, 1))
    for metric_type in ("percentage", "numeric"):
        found = await verify(criteria(criterion("shouting", "gte", 0.9, metric_type=metric_type)), {}, engine=engine)
        assert one(found).error.code == "out_of_range"
        assert found.metrics == {"shouting": reported}
        assert found.verdict is Verdict.REJECTED


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize("comparison", ["gte", "lte", "neq"])
async def test_infinity_meets_nothing(value: float, comparison: str) -> None:
    found = await verify(
        criteria(criterion("latency_ms", comparison, 5)), {}, execution_metadata={"duration_ms": value}
    )
    assert one(found).error.code == "not_a_number"
    assert (found.verdict, found.metrics) == (Verdict.REJECTED, {})
    assert found.model_dump_json()


@pytest.mark.parametrize(
    ("comparison", "terms", "share", "met"),
    [
        ("contains_all", ["cat", "mat"], 1, True),
        ("contains_all", ["cat", "dog"], 0.5, False),
        ("contains_any", ["cat", "dog"], 0.5, True),
        ("contains_any", ["dog", "sat in"], 0, False),
        ("contains_any", ["ca", "label"], 0, False),
    ],
)
async def test_terms_of_the_threshold_match_on_word_boundaries_of_the_text_alone(
    comparison: str, terms: list[str], share: float, met: bool
) -> None:
    wanted = criteria(criterion("contains_keywords", comparison, terms, metric_type="contains"))
    found = await verify(wanted, {"text": "The CAT sat on the mat.", "label": "dog"})
    assert (one(found).value, one(found).met, one(found).secret) == (share, met, False)


async def test_criteria_with_terms_of_their_own_do_not_overwrite_each_other() -> None:
    wanted = criteria(
        criterion("contains_keywords", "contains_all", ["cat"], metric_type="contains"),
        criterion("contains_keywords", "contains_any", ["dog"], metric_type="contains"),
        criterion("contains_keywords", "gte", 0.5, metric_type="contains"),
        aggregation="any",
    )
    found = await verify(wanted, {"text": "a cat"}, evaluation={"required_keywords": ["a", "bird", "cat", "hush"]})
    assert [each.value for each in found.criterion_results] == [1, 0, 0.5]
    assert [each.secret for each in found.criterion_results] == [False, False, True]
    assert found.metrics == {"contains_keywords": 0.5}


async def test_a_schema_in_the_threshold_is_held_against_the_output() -> None:
    schema = {"type": "object", "required": ["n"]}
    wanted = criteria(criterion("matches_schema", "eq", schema, metric_type="matches_schema"))
    assert (await verify(wanted, {"n": 1})).success
    assert (await verify(wanted, {"m": 1})).verdict is Verdict.REJECTED


async def test_one_failing_extractor_leaves_the_others_and_makes_the_verdict_indeterminate() -> None:
    engine = VerificationEngine({"extractors": {"bad": {"class": f"{SAMPLES}:Failing"}}})
    wanted = criteria(
        criterion("broken", "gte", 1, penalty="5"),
        criterion("output_length", "gte", 1, bonus="5"),
        bonus_policy="per_criterion",
    )
    found = await verify(wanted, {"text": "abc"}, engine=engine, evaluation={"reference": "hush"})
    broken, length = found.criterion_results
    assert (broken.error.code, broken.error.fault) == ("extractor_failed", Fault.PLATFORM)  # type: ignore[union-attr]
    assert length.met
    assert (found.verdict, found.success, money(found)) == (Verdict.INDETERMINATE, False, (0, 0))
    assert cost(Terms(cpc_rate=Decimal(1)), found).total == 0
    assert "hush" not in found.model_dump_json()


async def test_an_extractor_that_returns_no_mapping_failed() -> None:
    engine = VerificationEngine({"extractors": {"wordy": {"class": f"{SAMPLES}:Wordy"}}})
    found = await verify(criteria(criterion("shouting", "gte", 0)), {}, engine=engine)
    assert (one(found).error.code, found.verdict) == ("extractor_failed", Verdict.INDETERMINATE)


async def test_an_extractor_can_neither_rewrite_the_candidate_nor_answer_for_others() -> None:
    engine = VerificationEngine({"extractors": {"a_meddler": {"class": f"{SAMPLES}:Meddling"}}})
    wanted = criteria(
        criterion("meddled", "eq", 1), criterion("output_length", "lte", 3), criterion("latency_ms", "gte", 5)
    )
    output = {"text": "abc"}
    found = await verify(wanted, output, engine=engine, execution_metadata={"duration_ms": 5})
    assert found.success
    assert (output, found.metrics["output_length"]) == ({"text": "abc"}, 3)


@pytest.mark.parametrize("value", [True, "5", None, [1]])
async def test_an_extractor_that_returns_no_number_meets_nothing(value: Any) -> None:
    found = await verify(criteria(criterion("shouting", "neq", 7)), {}, engine=returning(value))
    assert one(found).error.code == ("metric_missing" if value is None else "not_a_number")


async def test_numbers_of_numpy_are_numbers() -> None:
    numpy = pytest.importorskip("numpy")
    for value, comparison, threshold, kind in (
        (numpy.int64(3), "eq", 3, "count"),
        (numpy.float32(0.5), "eq", 0.5, "numeric"),
        (numpy.bool_(True), "eq", True, "boolean"),
    ):
        engine = VerificationEngine(
            {"extractors": {"mine": {"class": f"{SAMPLES}:Sample", "config": {"value": value}}}}
        )
        found = await verify(
            criteria(criterion("shouting", comparison, threshold, metric_type=kind)), {}, engine=engine
        )
        assert found.success, kind


async def test_an_agent_cannot_report_what_the_platform_measures() -> None:
    wanted = criteria(criterion("platform_latency_ms", "lte", 500))
    forged = {"platform_latency_ms": 1}
    assert (await verify(wanted, {}, execution_metadata=forged)).verdict is Verdict.INDETERMINATE
    measured = await verify(wanted, {}, execution_metadata=forged, platform_latency_ms=900.0)
    assert (measured.verdict, measured.metrics) == (Verdict.REJECTED, {"platform_latency_ms": 900.0})


async def test_missing_evaluation_data_is_nobodys_verdict() -> None:
    found = await verify(criteria(criterion("rougeL", "gte", 0.1, metric_type="rouge_score")), {"text": "a"})
    assert one(found).error.code == "evaluation_missing"
    assert found.verdict is Verdict.INDETERMINATE


async def test_evaluation_data_overlay_the_input() -> None:
    wanted = criteria(criterion("rouge1", "eq", 1, metric_type="rouge_score"))
    for given in (
        {"work_input": {"reference": "a b"}},
        {"work_input": {"reference": "x"}, "evaluation": {"reference": "a b"}},
        {"evaluation": Evaluation(reference="a b")},
    ):
        assert (await verify(wanted, {"text": "a b"}, **given)).success


@pytest.mark.parametrize("comparison", ["lte", "lt", "gte", "neq"])
@pytest.mark.parametrize("metadata", [{}, {"duration_ms": None}, {"ttfb_ms": 1}])
async def test_missing_duration_never_meets_a_latency_criterion(comparison: str, metadata: dict[str, Any]) -> None:
    found = await verify(criteria(criterion("latency_ms", comparison, 500, **LATENCY)), {}, execution_metadata=metadata)
    assert one(found).error.code == "metric_missing"
    assert one(found).value is None
    assert (found.verdict, found.metrics, money(found)) == (Verdict.REJECTED, {}, (0, 2))
