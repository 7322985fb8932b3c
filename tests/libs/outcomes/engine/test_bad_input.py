import json
import math
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aex_models.results import CriterionResult, VerificationResult
from aex_outcomes import VerificationEngine
from tests.examples import examples
from tests.libs.outcomes.engine.builders import Still
from tests.libs.outcomes.engine.stories import one, valid
from tests.libs.outcomes.kernels.texts import prose

REFERENCE = {"reference": "the cat sat on the mat"}
TEXTUAL = [
    one("rouge1", "rouge_score", "gte", 0),
    one("rougeL", "rouge_score", "gte", 0),
    one("bleu_score", "bleu_score", "gte", 0),
    one("output_length", "count", "gte", 0),
    one("word_count", "count", "gte", 0),
    one("contains_keywords", "contains", "gte", 0),
    one("matches_pattern", "boolean", "neq", True),
]
"""Criteria that every text meets."""
TEXT_DATA = REFERENCE | {"required_keywords": ["zebra"], "pattern": "^zebra$"}
LABELS = [
    one("accuracy", "accuracy", "gte", 0),
    one("precision", "accuracy", "gte", 0),
    one("recall", "accuracy", "gte", 0),
    one("f1_score", "f1_score", "gte", 0),
]
"""Criteria that every set of predictions meets."""
NO_TEXT: list[Any] = [
    None, 5, True, "a bare text", [], ["text"], {}, {"text": None}, {"text": 5}, {"text": ["a"]},
    {"text": {"text": "a"}}, {"TEXT": "a"}, {"text ": "a"},
]  # fmt: skip
NOT_JSON: list[Any] = [math.nan, math.inf, {"a": -math.inf}, {1: 2}, {1, 2}, b"x", {"a": range(2)}, "\ud800"]


async def judge(criteria: list[dict[str, Any]], output: Any, **more: Any) -> VerificationResult:
    config = {"caching": {"extractor_results_ttl": 0}, "verification": {"max_criteria_per_task": 100}}
    engine = VerificationEngine(config, clock=Still())
    found = await engine.verify(
        contract_id="ctr_1",
        work_input={},
        work_output=output,
        success_criteria=valid(criteria),
        **{"execution_metadata": {}, **more},
    )
    json.dumps(found.model_dump(mode="json"), allow_nan=False)
    return found


def codes(found: VerificationResult) -> set[str | None]:
    return {each.error.code if each.error else None for each in found.criterion_results}


def deep(levels: int) -> Any:
    nested: Any = 1
    for _ in range(levels):
        nested = [nested]
    return nested


@pytest.mark.parametrize("output", NO_TEXT, ids=repr)
async def test_without_a_text_no_metric_of_texts_is_met(output: Any) -> None:
    found = await judge(TEXTUAL, output, evaluation=TEXT_DATA)
    assert (codes(found), found.metrics, found.verdict) == ({"metric_missing"}, {}, "rejected")


async def test_an_empty_text_has_every_metric_and_scores_0() -> None:
    found = await judge(TEXTUAL, {"text": ""}, evaluation=TEXT_DATA)
    assert [each.value for each in found.criterion_results] == [0, 0, 0, 0, 0, 0, False]
    assert found.verdict == "passed"


async def test_a_text_beyond_all_measure_is_the_agents_error() -> None:
    found = await judge(TEXTUAL, {"text": "x" * 1_000_001}, evaluation=TEXT_DATA)
    assert (codes(found), found.verdict) == ({"text_too_long"}, "rejected")


async def test_texts_of_100000_tokens_are_judged_in_seconds() -> None:
    text, started = prose(1, 100_000), time.process_time()
    found = await judge(TEXTUAL, {"text": text}, evaluation=TEXT_DATA | {"reference": prose(2, 100_000)})
    assert (codes(found), found.verdict) == ({None}, "passed")
    assert found.metrics["word_count"] == 100_000
    assert time.process_time() - started < 60  # about 2 s; the table of dynamic programming would take hours


@pytest.mark.parametrize(
    ("predictions", "code"),
    [
        ([], "prediction_count"),
        (["a"], "prediction_count"),
        (["a", "b", "c"], "prediction_count"),
        (["a", None], "invalid_prediction"),
        (["a", ["b"]], "invalid_prediction"),
        (["a", {}], "invalid_prediction"),
        (["a", {"label": None}], "invalid_prediction"),
        (["a", {"lable": "b"}], "invalid_prediction"),
        (["a", math.nan], "invalid_prediction"),
        (["a", math.inf], "invalid_prediction"),
        (["a", 0.5], "invalid_prediction"),
        (["a", 10**400], "invalid_prediction"),
        (["a", 2**53 + 1], "invalid_prediction"),
        ([{"label": "a", "id": 1}, {"label": "b", "id": 1}], "prediction_ids"),
        ([{"label": "a", "id": 1}, {"label": "b", "id": 3}], "prediction_ids"),
        ([{"label": "a", "id": True}, {"label": "b", "id": 2}], "prediction_ids"),
    ],
)
async def test_predictions_that_do_not_fit_are_the_agents_error(predictions: list[Any], code: str) -> None:
    truth = [{"label": "a", "id": 1}, {"label": "b", "id": 2}]
    found = await judge(LABELS, {"predictions": predictions}, evaluation={"ground_truth": truth})
    assert (codes(found), found.verdict) == ({code}, "rejected")


@pytest.mark.parametrize(
    ("confidence", "code"),
    [
        (True, "not_a_number"), ("0.9", "not_a_number"), (math.nan, "not_a_number"), (math.inf, "not_a_number"),
        (10**400, "not_a_number"), (92, "out_of_range"), (-0.1, "out_of_range"), (None, "metric_missing"),
    ],
)  # fmt: skip
async def test_a_confidence_that_is_none_meets_nothing(confidence: Any, code: str) -> None:
    predictions = [{"label": "a", "confidence": 1}, {"label": "b", "confidence": confidence}]
    found = await judge([one("confidence", "accuracy", "gte", 0)], predictions)
    assert (codes(found), found.verdict) == ({code}, "rejected")


@pytest.mark.parametrize(
    ("duration", "code"),
    [
        (True, "not_a_number"), ("5", "not_a_number"), ([5], "not_a_number"), ({}, "not_a_number"),
        (math.nan, "not_a_number"), (math.inf, "not_a_number"), (10**400, "not_a_number"), (2**53 + 1, "not_a_number"),
        (-1, "out_of_range"), (-0.001, "out_of_range"), (None, "metric_missing"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("comparison", ["lte", "gte", "neq"])
async def test_a_duration_that_is_none_meets_nothing(duration: Any, code: str, comparison: str) -> None:
    expected = one("latency_ms", "latency", comparison, 5, penalty="2")
    found = await judge([expected], {}, execution_metadata={"duration_ms": duration})
    assert (codes(found), found.verdict, float(found.penalty)) == ({code}, "rejected", 2)


SCHEMA_MET = one("matches_schema", "matches_schema", "eq", True)


@pytest.mark.parametrize("output", NOT_JSON, ids=repr)
@pytest.mark.parametrize("schema", [{}, {"type": ["object", "null"]}, {"not": {"type": "integer"}}])
async def test_what_is_no_json_conforms_to_no_schema(output: Any, schema: dict[str, Any]) -> None:
    found = await judge([SCHEMA_MET], output, evaluation={"output_schema": schema})
    assert (codes(found), found.verdict) == ({"not_json"}, "rejected")


@pytest.mark.parametrize("levels", [500, 5_000, 100_000])
async def test_an_output_nested_without_end_ends_nothing(levels: int) -> None:
    schema = {"$defs": {"t": {"items": {"$ref": "#/$defs/t"}}}, "$ref": "#/$defs/t"}
    found = await judge([SCHEMA_MET, *TEXTUAL[:1]], deep(levels), evaluation={"output_schema": schema} | REFERENCE)
    assert found.criterion_results[0].met is (levels == 500)
    assert found.verdict == "rejected"


@pytest.mark.parametrize("target", ["file:///etc/passwd", "http://127.0.0.1:1/s.json", "//host/share", "other.json"])
@pytest.mark.parametrize("brought", [True, False])
async def test_a_schema_that_leads_outside_is_an_indeterminate_verdict(target: str, brought: bool) -> None:
    schema = {"properties": {"a": {"$ref": target}}}
    expected = SCHEMA_MET | {"threshold": schema if brought else True, "penalty": "1"}
    found = await judge([expected], {"a": 1}, evaluation={} if brought else {"output_schema": schema})
    assert (codes(found), found.verdict, float(found.penalty)) == ({"extractor_failed"}, "indeterminate", 0)
    assert "passwd" not in found.criterion_results[0].error.message  # type: ignore[union-attr]


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|aa)+$", "(a*)*b", "(.*a){20}b", "^(([a-z])+.)+[A-Z]([a-z])+$"])
async def test_catastrophic_patterns_take_no_longer_than_others(pattern: str) -> None:
    started = time.process_time()
    expected = [one("matches_pattern", "boolean", "eq", True), SCHEMA_MET]
    evaluation = {"pattern": pattern, "output_schema": {"properties": {"text": {"pattern": pattern}}}}
    found = await judge(expected, {"text": "a" * 100_000 + "!"}, evaluation=evaluation)
    assert (codes(found), found.metrics) == ({None}, {"matches_pattern": False, "matches_schema": False})
    assert time.process_time() - started < 20


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([10**400, 2**53 + 1, "\ud800", b"x", {1}, ("a", "b"), "cat", "the cat sat on the mat"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["text", "predictions", "label", "id", "confidence", "a"]) | st.integers(0, 1),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)
EVERYTHING = [
    *TEXTUAL, *LABELS, SCHEMA_MET,
    one("confidence", "percentage", "gte", 0),
    one("num_predictions", "count", "gte", 0),
    one("has_required_fields", "boolean", "eq", True),
    one("has_required_fields", "percentage", "gte", 0.5),
    one("exact_match", "boolean", "eq", True),
    *(one(each, "percentage", "gte", 0) for each in ("answer_f1", "edit_similarity", "fuzzy_ratio", "chrf")),
    one("numeric_match", "boolean", "eq", True),
    one("choice_match", "boolean", "eq", True),
    one("latency_ms", "latency", "gte", 0),
    one("time_to_first_byte", "numeric", "in_range", {"min": -1e300}),
    one("processing_time", "latency", "neq", 5),
]  # fmt: skip
ALL_DATA = TEXT_DATA | {
    "ground_truth": ["a", 1],
    "output_schema": {"type": "object"},
    "required_fields": ["/text"],
    "numeric": {"value": 5, "units": ["kg"]},
    "choice": {"correct": "A", "options": {"A": "cat", "B": "dog"}},
}


def is_sound(criterion: CriterionResult) -> bool:
    if criterion.error is not None:
        return criterion.value is None and not criterion.met and criterion.error.fault == "agent"
    return criterion.value is not None and math.isfinite(criterion.value)


@settings(max_examples=examples(200), deadline=None)
@given(
    st.fixed_dictionaries({}, optional={"text": ANYTHING, "predictions": ANYTHING}) | ANYTHING,
    st.fixed_dictionaries({}, optional=dict.fromkeys(["duration_ms", "ttfb_ms", "processing_ms"], ANYTHING)),
)
async def test_whatever_is_delivered_every_criterion_is_answered_and_the_agent_answers_for_it(
    output: Any, metadata: dict[str, Any]
) -> None:
    found = await judge(EVERYTHING, output, evaluation=ALL_DATA, execution_metadata=metadata)
    assert [each for each in found.criterion_results if not is_sound(each)] == []
    assert found.verdict in {"passed", "rejected"}
