from decimal import Decimal
from typing import Any

import pytest

from aex_models.contract import Terms
from aex_models.cost import cost
from aex_models.evaluation import Evaluation
from aex_models.examination import Fault
from aex_models.results import Verdict, VerificationResult
from aex_outcomes import VerificationEngine
from aex_outcomes.engine.candidate import VerificationInput
from aex_outcomes.engine.extraction import ResultCache
from aex_outcomes.engine.extraction_plan import Reading
from tests.libs.outcomes.engine.builders import NOW, SAMPLES, criteria, criterion, money, verify


def one(found: VerificationResult) -> Any:
    [only] = found.criterion_results
    return only


async def test_criteria_with_terms_of_their_own_do_not_overwrite_each_other() -> None:
    expected = criteria(
        criterion("contains_keywords", "contains_all", ["cat"], metric_type="contains"),
        criterion("contains_keywords", "contains_any", ["dog"], metric_type="contains"),
        criterion("contains_keywords", "gte", 0.5, metric_type="contains"),
        aggregation="any",
    )
    found = await verify(expected, {"text": "a cat"}, evaluation={"required_keywords": ["a", "bird", "cat", "hush"]})
    assert [each.value for each in found.criterion_results] == [1, 0, 0.5]
    assert [each.secret for each in found.criterion_results] == [False, False, True]
    assert found.metrics == {"contains_keywords": 0.5}


async def test_a_share_is_a_boolean_where_a_criterion_reads_one() -> None:
    kinds: list[tuple[str, Any]] = [("boolean", True), ("percentage", 50), ("numeric", 0.6)]
    comparison = {"boolean": "eq", "percentage": "gte", "numeric": "gte"}
    listed = [criterion("has_required_fields", comparison[kind], bound, metric_type=kind) for kind, bound in kinds]
    evaluation = {"required_fields": ["a", "b"]}
    half = await verify(criteria(*listed), {"a": 1}, evaluation=evaluation)
    assert [(each.value, each.met) for each in half.criterion_results] == [(False, False), (0.5, True), (0.5, False)]
    complete = await verify(criteria(*listed), {"a": 1, "b": None}, evaluation=evaluation)
    assert [each.value for each in complete.criterion_results] == [True, 1, 1]
    assert [type(each.value) for each in complete.criterion_results] == [bool, float, float]
    assert complete.metrics == {"has_required_fields": True}


async def test_one_failing_extractor_leaves_the_others_and_makes_the_verdict_indeterminate() -> None:
    engine = VerificationEngine({"extractors": {"bad": {"class": f"{SAMPLES}:Failing"}}})
    expected = criteria(
        criterion("broken", "gte", 1, penalty="5"),
        criterion("output_length", "gte", 1, bonus="5"),
        bonus_policy="per_criterion",
    )
    found = await verify(expected, {"text": "abc"}, engine=engine, evaluation={"reference": "hush"})
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
    expected = criteria(criterion("platform_latency_ms", "lte", 500))
    forged = {"platform_latency_ms": 1}
    assert (await verify(expected, {}, execution_metadata=forged)).verdict is Verdict.INDETERMINATE
    measured = await verify(expected, {}, execution_metadata=forged, platform_latency_ms=900.0)
    assert (measured.verdict, measured.metrics) == (Verdict.REJECTED, {"platform_latency_ms": 900.0})


async def test_evaluation_data_overlay_the_input() -> None:
    expected = criteria(criterion("rouge1", "eq", 1, metric_type="rouge_score"))
    for given in (
        {"work_input": {"reference": "a b"}},
        {"work_input": {"reference": "x"}, "evaluation": {"reference": "a b"}},
        {"evaluation": Evaluation(reference="a b")},
    ):
        assert (await verify(expected, {"text": "a b"}, **given)).success


class Seconds:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_result_is_remembered_until_its_time_is_up() -> None:
    seconds = Seconds()
    cache = ResultCache(300, seconds)
    key = cache.make_key("section", {"a": 1}, "output")
    cache.put(key, {"m": Reading(1)})
    seconds.now = 299.9
    assert cache.get(key) == {"m": Reading(1)}
    seconds.now = 300
    assert cache.get(key) is None


async def test_readings_of_a_contract_are_not_those_of_a_trial_of_the_same_output() -> None:
    engine = VerificationEngine()
    contracts = ("ctr_1", "ctr_1", "ctr_2", "none")
    assessed = [await engine.verify_without_governance(_case_of(contract_id)) for contract_id in contracts]
    assert [list(each.seconds) for each in assessed] == [["text_quality"], [], ["text_quality"], ["text_quality"]]
    assert {each.result.metrics["word_count"] for each in assessed} == {2}


def _case_of(contract_id: str) -> VerificationInput:
    return VerificationInput(
        contract_id=contract_id,
        work_input={},
        work_output={"text": "forty two"},
        success_criteria=criteria(criterion("word_count")),
        execution_metadata={},
        evaluation={},
        verification_id="ver_1",
        verified_at=NOW,
    )


def test_other_input_has_another_key() -> None:
    cache = ResultCache(300, Seconds())
    assert len({cache.make_key("a", 1), cache.make_key("a", 2), cache.make_key("b", 1), cache.make_key("a", "1")}) == 4


def test_nothing_is_remembered_without_a_time_to_live() -> None:
    cache = ResultCache(0, Seconds())
    key = cache.make_key("a")
    cache.put(key, {"m": Reading(1)})
    assert key is None
    assert cache.get(key) is None


def test_what_is_no_json_is_not_remembered() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    cache = ResultCache(300, Seconds())
    assert cache.make_key(object()) is None
    assert cache.make_key(deep) is None


def test_the_oldest_result_is_dropped() -> None:
    cache = ResultCache(300, Seconds())
    keys = [cache.make_key(number) for number in range(300)]
    for key in keys:
        cache.put(key, {"m": Reading(1)})
    kept = [cache.get(key) is not None for key in keys]
    assert kept == [False] * 44 + [True] * 256
