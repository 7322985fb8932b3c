from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.criteria import SuccessCriteria
from aex_models.evaluation import Evaluation
from aex_outcomes import VerificationEngine
from aex_outcomes.reference_check import (
    build_reference_output,
    check_references_against_criteria,
    warn_if_references_fail,
)
from aex_outcomes.sandbox.port import CodeFault, FaultKind, SandboxUnavailable
from tests.libs.outcomes.engine.builders import criteria, criterion
from tests.parts.verification import SimulatedSandbox

REFERENCE = "The committee approved the new budget on Monday."
ROUGE = criterion("rougeL", "gte", 0.9, metric_type="rouge_score")
LONG = criterion("word_count", "gte", 50)
SHORT = criterion("word_count", "lte", 20)
LATENCY = criterion("latency_ms", "lte", 5, metric_type="latency")


async def warned(expected: SuccessCriteria | None, reference: Any = REFERENCE, **more: Any) -> str | None:
    """The message of the warning, if there is one."""
    engine = more.pop("engine", None) or VerificationEngine()
    found = await warn_if_references_fail(expected, {}, {"reference": reference, **more}, engine)
    if found is not None:
        assert (found.code, found.path) == ("reference_fails_criteria", "/evaluation/reference")
    return found.message if found else None


async def test_a_reference_that_passes_is_no_matter() -> None:
    assert await warned(criteria(ROUGE, SHORT)) is None


async def test_a_reference_that_fails_is_reported_with_the_criteria_and_without_its_values() -> None:
    feedback = await warned(criteria(ROUGE, LONG))
    assert feedback == "The reference itself does not pass: word_count gte (at least 50)"
    assert "8" not in feedback


async def test_of_several_references_one_that_passes_is_enough() -> None:
    assert await warned(criteria(ROUGE, SHORT), ["long " * 60, REFERENCE]) is None
    feedback = await warned(criteria(ROUGE, LONG), [REFERENCE, "Shorter."])
    assert feedback == "None of the 2 references passes: word_count gte (at least 50)"


async def test_what_no_reference_meets_is_named_and_what_some_meet_is_not() -> None:
    narrow = criteria(criterion("word_count", "eq", 3), criterion("output_length", "eq", 3))
    assert await warned(narrow, ["a b c", "abc"]) == "None of the 2 references passes"


@pytest.mark.parametrize(
    "beyond",
    [
        LATENCY,
        criterion("platform_latency_ms", "lte", 5, metric_type="latency"),
        criterion("confidence", "gte", 0.5, metric_type="percentage"),
        criterion("accuracy", "gte", 0.9, metric_type="accuracy"),
        criterion("has_required_fields", "eq", True, metric_type="boolean"),
        criterion("matches_schema", "eq", True, metric_type="matches_schema"),
        criterion("matches_schema", "eq", {"required": ["sources"]}, metric_type="matches_schema"),
    ],
)
async def test_what_a_text_cannot_have_counts_as_met(beyond: Any) -> None:
    more = {"ground_truth": ["a"], "required_fields": ["sources"], "output_schema": {"required": ["sources"]}}
    assert await warned(criteria(ROUGE, beyond), **more) is None
    assert await warned(criteria(beyond, LONG), **more) is not None
    assert await warned(criteria(beyond, LONG, aggregation="any"), **more) is None


async def test_weights_of_what_a_text_cannot_have_count_for_it() -> None:
    latency = criterion("latency_ms", "lte", 5, metric_type="latency", weight=3)
    assert await warned(criteria(latency, LONG, aggregation="weighted", minimum_weighted_score=0.75)) is None
    assert await warned(criteria(latency, LONG, aggregation="weighted", minimum_weighted_score=0.76)) is not None


@pytest.mark.parametrize(
    ("fault", "warns"),
    [(None, True), (SandboxUnavailable("off"), False), (CodeFault(FaultKind.EXCEPTION, "KeyError: 'x'"), False)],
)
async def test_custom_code_counts_where_it_can_be_run(fault: Exception | None, warns: bool) -> None:
    sandbox = SimulatedSandbox()
    sandbox.meets = lambda _: fault
    expected = criteria(criterion("custom.words", "gte", 50), SHORT)
    code = {"name": "words", "code": "def evaluate(input, output, metadata):\n    return 0"}
    feedback = await warned(expected, custom_metrics=[code], engine=VerificationEngine(sandbox=sandbox))
    assert (feedback is not None) is warns


async def test_there_is_nothing_to_try_without_criteria_or_reference() -> None:
    assert await warned(None) is None
    assert await warn_if_references_fail(criteria(LONG), {}, None, VerificationEngine()) is None
    assert await warn_if_references_fail(criteria(LONG), {}, Evaluation(pattern="x"), VerificationEngine()) is None
    assert (
        await warn_if_references_fail(criteria(LONG), {}, Evaluation(reference="x"), VerificationEngine()) is not None
    )


@pytest.mark.parametrize(
    ("text_quality", "contains", "output"),
    [
        ("/text", "/text", {"text": "t"}),
        ("/summary", "/parts/0/body", {"summary": "t", "parts": {"0": {"body": "t"}}}),
        ("/a~1b", "/a~0b", {"a/b": "t", "a~b": "t"}),
        ("", "/text", "t"),
        ("/text", "/text/body", {"text": "t"}),
    ],
)
def test_the_text_lies_wherever_an_extractor_looks_for_it(text_quality: str, contains: str, output: Any) -> None:
    pointers = {"text_quality": text_quality, "contains": contains, "answers": text_quality}
    sections = {name: {"config": {"text_pointer": pointer}} for name, pointer in pointers.items()}
    assert build_reference_output("t", VerificationEngine({"extractors": sections})) == output


@given(st.lists(st.text("ab ", min_size=1, max_size=8).filter(str.strip), min_size=1, max_size=3))
async def test_every_reference_is_as_close_to_itself_as_can_be(references: list[str]) -> None:
    assert await warned(criteria(criterion("rouge1", "gte", 1, metric_type="rouge_score")), references) is None


def test_it_is_a_job_of_a_worker_too() -> None:
    payload = {"success_criteria": criteria(LONG).model_dump(mode="json"), "evaluation": {"reference": REFERENCE}}
    found = check_references_against_criteria(payload)["warning"]
    assert found["code"] == "reference_fails_criteria"
    assert check_references_against_criteria({**payload, "evaluation": {}, "input": {}, "config": None}) == {
        "warning": None
    }
