from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.examination import Fault
from aex_models.results import CriterionError, VerificationResult
from aex_models.work import FeedbackLevel, Problem
from aex_outcomes.feedback import (
    render_feedback,
    render_invalid_output,
    render_repeat_feedback,
    summarize_rejection,
)
from aex_outcomes.formatting import MAX_BYTES
from tests.libs.outcomes.engine.builders import criteria, criterion, result, verify

EXPECTED = criteria(
    criterion("rougeL", "gte", 0.4, metric_type="rouge_score"),
    criterion("output_length", "in_range", {"min": 100, "max": 500}, metric_type="count"),
    criterion("word_count", "gte", 1),
    criterion("output_length", "gte", 1),
)


async def rejected() -> VerificationResult:
    return await verify(EXPECTED, {"text": "hush " * 10}, evaluation={"reference": "something else entirely"})


def feedback(found: VerificationResult | None, level: FeedbackLevel = FeedbackLevel.CRITERIA, **more: Any) -> str:
    given: dict[str, Any] = {"attempt": 1, "max_attempts": 3, "level": level} | more
    return render_feedback(found, **given)


async def test_level_criteria_reports_which_failed() -> None:
    assert feedback(await rejected()) == (
        '<verification_rejected code="criteria_not_met" attempt="1" max_attempts="3">\n'
        "Summary: 2 of 4 criteria not met.\n"
        "- rougeL: not met\n"
        "- output_length: not met\n"
        "</verification_rejected>"
    )


async def test_level_full_reports_values_and_thresholds() -> None:
    assert feedback(await rejected(), FeedbackLevel.FULL).splitlines()[2:4] == [
        "- rougeL: 0, needs at least 0.4",
        "- output_length: 50, needs 100 to 500",
    ]


async def test_level_none_reports_the_first_line_alone() -> None:
    assert feedback(await rejected(), FeedbackLevel.NONE, message="secret reasons") == (
        '<verification_rejected code="criteria_not_met" attempt="1" max_attempts="3">\n</verification_rejected>'
    )


@pytest.mark.parametrize("level", [FeedbackLevel.CRITERIA, FeedbackLevel.NONE])
def test_values_and_messages_are_reported_at_full_alone(level: FeedbackLevel) -> None:
    error = CriterionError(code="prediction_count", message="3 predictions, 77 expected")
    found = result(error, False)
    assert "77" not in feedback(found, level)
    assert "77" in feedback(found, FeedbackLevel.FULL)


def test_the_message_of_custom_code_is_never_reported() -> None:
    error = CriterionError(code="custom_metric_failed", message="KeyError: hush", fault=Fault.PLATFORM)
    reported = feedback(result(error), FeedbackLevel.FULL)
    assert "custom_metric_failed" in reported
    assert "hush" not in reported


@pytest.mark.parametrize(
    ("expected", "line"),
    [
        (("latency_ms", "lte", 500), "latency_ms: missing, needs at most 500"),
        (("word_count", "gt", 9.5), "word_count: 2, needs more than 9.5"),
        (("word_count", "lt", 2), "word_count: 2, needs less than 2"),
        (("word_count", "eq", 3), "word_count: 2, needs 3"),
        (("word_count", "neq", 2), "word_count: 2, needs anything but 2"),
        (("word_count", "in_range", {"max": 1}), "word_count: 2, needs at most 1"),
        (("word_count", "in_range", {"min": 3}), "word_count: 2, needs at least 3"),
        (("contains_keywords", "contains_all", ["a", "<b>"]), "contains_keywords: 0.5, needs all of: a, &lt;b&gt;"),
        (("contains_keywords", "contains_any", ["x"]), "contains_keywords: 0, needs any of: x"),
        (("matches_schema", "eq", {"type": "array"}), "matches_schema: false, needs to match the criterion's schema"),
        (("matches_schema", "neq", {}), "matches_schema: true, needs not to match the criterion's schema"),
    ],
)
async def test_thresholds_in_words(expected: tuple[str, str, Any], line: str) -> None:
    types = {"contains_keywords": "contains", "matches_schema": "matches_schema"}
    requests = criterion(*expected, metric_type=types.get(expected[0], "numeric"))
    found = await verify(criteria(requests), {"text": "a c"})
    assert feedback(found, FeedbackLevel.FULL).splitlines()[2] == f"- {line}"


def test_why_a_secret_metric_has_no_value_is_reported_at_full_alone_unless_the_candidate_lacks_it() -> None:
    found = result(CriterionError(code="prediction_count"), CriterionError(code="metric_missing"))
    hidden = tuple(each.model_copy(update={"secret": True}) for each in found.criterion_results)
    found = found.model_copy(update={"criterion_results": hidden})
    assert feedback(found).splitlines()[2:-1] == ["- m0: not met", "- m1: not met (metric_missing)"]
    assert "prediction_count" in feedback(found, FeedbackLevel.FULL)


def test_a_verifiers_own_words_are_the_summary() -> None:
    reported = feedback(None, code='too "short"', message="Write <more>\nplease & thanks", attempt=2)
    assert reported.splitlines() == [
        '<verification_rejected code="too &quot;short&quot;" attempt="2" max_attempts="3">',
        "Summary: Write &lt;more&gt; please &amp; thanks",
        "</verification_rejected>",
    ]


def test_metadata_is_reported_at_full_in_the_order_of_its_keys() -> None:
    metadata = {"words": 812, "share": 0.25, "late": True, "why": "too <long>", "where": {"b": [1, None], "a": "ü"}}
    reported = feedback(None, FeedbackLevel.FULL, message="No.", metadata=metadata)
    assert reported.splitlines()[1:-1] == [
        "Summary: No.",
        "- late: true",
        "- share: 0.25",
        '- where: {"a": "ü", "b": [1, null]}',
        "- why: too &lt;long&gt;",
        "- words: 812",
    ]


@pytest.mark.parametrize("level", [FeedbackLevel.CRITERIA, FeedbackLevel.NONE])
def test_metadata_is_reported_at_full_alone(level: FeedbackLevel) -> None:
    assert feedback(None, level, message="No.", metadata={"hush": 1}) == feedback(None, level, message="No.")


async def test_the_summary_for_events_is_what_the_first_line_says_as_plain_text() -> None:
    assert summarize_rejection(await rejected(), None) == "2 of 4 criteria not met."
    assert summarize_rejection(await rejected(), "Write <more>\nplease \ud800") == "Write <more> please \ufffd"
    assert len(summarize_rejection(None, "x" * 1_000_000).encode()) <= 2_010


def test_invalid_outputs_are_reported_where_and_why() -> None:
    problems = [
        Problem(path="/output/a", code="missing", message="Field <required>"),
        Problem(path="", code="c", message="m"),
    ]
    assert render_invalid_output(problems).splitlines() == [
        '<output_invalid errors="2">',
        "- /output/a: Field &lt;required&gt;",
        "- /: m",
        "</output_invalid>",
    ]


def test_repeats_are_reported_how_many_are_left() -> None:
    assert render_repeat_feedback(attempt=1, max_attempts=3, replays=2, max_replays=3).splitlines() == [
        '<candidate_repeated attempt="1" max_attempts="3" replays="2" max_replays="3">',
        "This candidate was rejected before: it was not judged again and used no attempt. Change it.",
        "</candidate_repeated>",
    ]


@given(st.text(max_size=3000), st.text(max_size=300), st.integers(0, 100), st.sampled_from(FeedbackLevel))
def test_feedback_is_well_formed_small_and_deterministic_whatever_it_holds(
    message: str, code: str, count: int, level: FeedbackLevel
) -> None:
    found = result(*([CriterionError(code=code, message=message)] * count))
    reported = feedback(found, level, code=code, message=message)
    assert len(reported.encode()) <= MAX_BYTES
    assert ElementTree.fromstring(reported).tag == "verification_rejected"  # noqa: S314 our own text
    assert reported == feedback(found, level, code=code, message=message)


@pytest.mark.parametrize("filler", ["x", "😀", "&", "\x00", "\ud800"])
def test_what_does_not_fit_is_counted(filler: str) -> None:
    found = result(*[CriterionError(code="c", message=filler * 5000)] * 90)
    reported = feedback(found, FeedbackLevel.FULL, message=filler * 1_000_000)
    assert len(reported.encode()) <= MAX_BYTES
    ElementTree.fromstring(reported)  # noqa: S314 our own text
    items = [line for line in reported.splitlines() if line.startswith("- m")]
    assert f"- … and {90 - len(items)} more" in reported
