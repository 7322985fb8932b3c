"""The engine, whole: candidates and criteria in, verdicts and money out."""

from decimal import Decimal
from typing import Any

import pytest

from aex_models.contract import ExecutionMetadata, Terms
from aex_models.cost import cost
from aex_models.criteria import SuccessCriteria
from aex_models.governance import Action, Flag, Severity, ValidationDecision
from aex_models.results import Fault, Provenance, Verdict, VerificationResult
from aex_models.work import Evaluation
from aex_outcomes import VerificationEngine
from aex_outcomes.catalog import InvalidMetricType, TooManyCriteria, UnknownMetric
from aex_outcomes.config import InvalidConfig
from aex_outcomes.engine.candidate import CandidateFacts
from tests.libs.outcomes.engine.builders import NOW, SAMPLES, Still, criteria, criterion, lengths, money, verify

LATENCY = {"metric_type": "latency", "bonus": "1", "penalty": "2"}


class Deciding:
    """Governance that always says the same, and remembers what it was told."""

    def __init__(self, action: str) -> None:
        flags = () if action == "allow" else (Flag(rule="velocity", severity=Severity.MAJOR, message="…"),)
        self.decision = ValidationDecision(valid=action == "allow", action=Action(action), flags=flags)
        self.told: list[CandidateFacts] = []

    async def validate(self, facts: CandidateFacts) -> ValidationDecision:
        self.told.append(facts)
        return self.decision


def returning(value: Any, **more: Any) -> VerificationEngine:
    """An engine with an extractor whose metric `shouting` has this value."""
    settings = {"class": f"{SAMPLES}:Sample", "config": {"value": value, **more}}
    return VerificationEngine({"extractors": {"mine": settings}})


def one(found: VerificationResult) -> Any:
    [only] = found.criterion_results
    return only


async def test_a_work_without_criteria_passes_as_delivered() -> None:
    found = await verify(None, {"anything": 1})
    assert (found.verdict, found.success, money(found)) == (Verdict.PASSED, True, (0, 0))
    assert found.governance.action is Action.SKIPPED
    assert found.criterion_results == ()


@pytest.mark.parametrize("comparison", ["lte", "lt", "gte", "neq"])
@pytest.mark.parametrize("metadata", [{}, {"duration_ms": None}, {"ttfb_ms": 1}])
async def test_missing_duration_never_meets_a_latency_criterion(comparison: str, metadata: dict[str, Any]) -> None:
    found = await verify(criteria(criterion("latency_ms", comparison, 500, **LATENCY)), {}, execution_metadata=metadata)
    assert one(found).error.code == "metric_missing"
    assert one(found).value is None
    assert (found.verdict, found.metrics, money(found)) == (Verdict.REJECTED, {}, (0, 2))


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


@pytest.mark.parametrize("policy", ["on_success", "per_criterion"])
@pytest.mark.parametrize("action", ["hold", "reject"])
async def test_what_governance_does_not_allow_has_neither_success_nor_bonus(policy: str, action: str) -> None:
    engine = VerificationEngine(governance=Deciding(action))
    wanted = criteria(criterion("output_length", "gte", 1, bonus="3"), bonus_policy=policy)
    found = await verify(wanted, {"text": "abc"}, engine=engine)
    assert (found.verdict, found.success, money(found)) == (Verdict.PASSED, False, (0, 0))
    assert found.governance_flags == ("velocity",)


async def test_governance_is_told_what_the_engine_computed_and_never_the_evaluation_data() -> None:
    governance = Deciding("allow")
    found = await verify(
        criteria(criterion("contains_keywords", "gte", 0.5, metric_type="contains")),
        {"text": "the cat sat on the mat"},
        engine=VerificationEngine(governance=governance),
        evaluation={"reference": "the cat sat on a mat, hush", "required_keywords": ["cat", "hush"]},
        execution_metadata={"duration_ms": 5},
        platform_latency_ms=7.0,
    )
    [facts] = governance.told
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


async def test_governance_is_not_asked_about_an_indeterminate_verdict_nor_where_it_is_switched_off() -> None:
    governance = Deciding("allow")
    torn = criteria(criterion("platform_latency_ms", "lte", 500))
    assert (await verify(torn, {}, engine=VerificationEngine(governance=governance))).verdict is Verdict.INDETERMINATE
    switched_off = VerificationEngine({"verification": {"governance_check": False}}, governance)
    assert (await verify(None, {}, engine=switched_off)).governance.action is Action.SKIPPED
    assert governance.told == []


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


async def test_an_unknown_metric_is_refused_by_name() -> None:
    with pytest.raises(UnknownMetric, match=r"^Unknown metric: nope$"):
        await verify(criteria(criterion("nope", "gte", 1)), {})


class Untouched(dict[str, Any]):
    """A candidate that nobody may look into."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"{name} was used")

    def __getitem__(self, key: str) -> Any:
        raise AssertionError(f"{key} was read")


@pytest.mark.parametrize(
    ("metric", "metric_type", "message"),
    [
        ("rougeL", "latency", r"^Invalid metric_type for metric: rougeL \(takes rouge_score, percentage, numeric\)$"),
        ("custom.score", "accuracy", r"^Invalid metric_type for metric: custom\.score \(takes custom, numeric, "),
    ],
)
async def test_a_metric_taken_for_what_it_is_not_is_refused_before_anything_is_read(
    metric: str, metric_type: str, message: str
) -> None:
    wanted = criteria(criterion("output_length"), criterion(metric, "gte", 0.5, metric_type=metric_type))
    with pytest.raises(InvalidMetricType, match=message):
        await verify(wanted, Untouched(text="a"))


async def test_more_criteria_than_the_configuration_takes_are_refused() -> None:
    with pytest.raises(TooManyCriteria, match=r"^At most 10 criteria; these are 11$"):
        await verify(lengths(*range(11)), Untouched(text="a"))
    roomy = VerificationEngine({"verification": {"max_criteria_per_task": 11}})
    assert (await verify(lengths(*range(11)), {"text": "a" * 10}, engine=roomy)).success


async def test_criteria_can_be_given_as_a_mapping_and_metadata_as_a_model() -> None:
    given = {"criteria": [{"metric": "latency_ms", "metric_type": "latency", "comparison": "lte", "threshold": 5}]}
    found = await VerificationEngine().verify(
        contract_id="c", work_input={}, work_output=None, success_criteria=given,
        execution_metadata=ExecutionMetadata(duration_ms=4),
    )  # fmt: skip
    assert found.success


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


@pytest.mark.parametrize(
    "wrong",
    [
        {"criteria": []},
        {"criteria": [criterion().model_dump()] * 2},
        {"criteria": [criterion().model_dump()], "aggregation": "most"},
        {"criteria": [criterion().model_dump()], "colour": "red"},
        {"criteria": [criterion().model_dump() | {"threshold": float("inf")}]},
    ],
)
def test_empty_doubled_and_unknown_things_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        SuccessCriteria.model_validate(wrong)


async def test_a_repeated_verification_is_answered_from_memory_and_is_the_same() -> None:
    engine = VerificationEngine({"extractors": {"mine": {"class": f"{SAMPLES}:Sample"}}}, clock=Still())
    wanted = criteria(criterion("shouting", "eq", 0.5), criterion("output_length", "gte", 1))
    first = await verify(wanted, {"text": "a"}, engine=engine)
    extractor: Any = engine.catalog.extractors["mine"]
    extractor.value = 0.9
    again = await verify(wanted, {"text": "a"}, engine=engine)
    assert again.model_copy(update={"verification_id": first.verification_id}) == first
    assert not (await verify(wanted, {"text": "another"}, engine=engine)).success


def test_a_configuration_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="colour"):
        VerificationEngine({"colour": "red"})
