"""Metrics METRIC.NAME over the evaluation data of a name."""

from typing import Any

import pytest

from aex_models.examination import Fault
from aex_outcomes import Catalog
from aex_outcomes.catalog import UnknownMetric
from aex_outcomes.submission import check_submission
from tests.libs.outcomes.engine.builders import criteria, criterion, verify

TWO = {
    "reference": "the cat sat",
    "named": {
        "title": {"reference": "a dog ran", "at": "/title"},
        "schema": {"output_schema": {"type": "integer"}, "at": "/count"},
        "fields": {"required_fields": ["x"], "at": "/inner"},
    },
}


async def values(metrics: list[str], output: Any, evaluation: Any = TWO) -> list[Any]:
    listed = [
        criterion(each, "eq", True, metric_type="boolean")
        if each.startswith(("matches", "has"))
        else criterion(each, "gte", 0.5)
        for each in metrics
    ]
    found = await verify(criteria(*listed), output, evaluation=evaluation)
    return [each.error.code if each.error else each.value for each in found.criterion_results]


async def test_a_named_metric_reads_its_own_data_at_its_own_location() -> None:
    output = {"text": "the cat sat", "title": "a dog ran", "count": 3, "inner": {"x": None}}
    names = ["rougeL", "rougeL.title", "rouge1.title", "matches_schema.schema", "has_required_fields.fields"]
    assert await values(names, output) == [1, 1, 1, True, True]
    swapped = {"text": "a dog ran", "title": "the cat sat", "count": "3", "inner": {}}
    assert await values(names, swapped) == [0, 0, 0, False, False]


async def test_a_length_needs_no_data_but_a_location() -> None:
    assert await values(["word_count.title"], {"text": "one", "title": "a dog ran"}) == [3]


async def test_what_the_output_lacks_at_the_location_is_missing() -> None:
    names = ["rougeL.title", "matches_schema.schema", "has_required_fields.fields"]
    assert await values(names, {"text": "a dog ran"}) == ["metric_missing"] * 3


async def test_data_without_a_name_or_of_another_do_not_serve_a_name() -> None:
    evaluation = {"reference": "the cat sat", "named": {"title": {"at": "/title"}}}
    expected = criteria(criterion("rougeL.title", "gte", 0.5))
    found = await verify(expected, {"title": "the cat sat"}, evaluation=evaluation)
    [only] = found.criterion_results
    assert only.error is not None
    assert (only.error.code, only.error.fault) == ("evaluation_missing", Fault.PLATFORM)
    assert only.error.message == "rougeL.title needs evaluation.named.title.reference"


def test_the_catalogue_knows_named_metrics_of_metrics_that_can_be_named() -> None:
    catalog = Catalog.of()
    assert catalog.entry("rougeL.title").needs == ("reference",)
    assert catalog.entry("rougeL.title").at == "/text"
    for unknown in ("accuracy.title", "latency_ms.title", "rougeL.", "rougeL.a.b", "nothing.title", "rougeL.9"):
        with pytest.raises(UnknownMetric):
            catalog.entry(unknown)


def test_a_submission_names_the_missing_data_of_a_name() -> None:
    listed = [criterion(metric, "gte", 0.5).model_dump(mode="json") for metric in ("rougeL.title", "bleu_score.none")]
    body = {
        "title": "t",
        "budget": {"max_cpc": "1"},
        "evaluation": {"named": {"title": {"at": "/title"}}},
        "success_criteria": {"criteria": listed},
    }
    checked = check_submission(body, Catalog.of(), verifiers=[])
    assert [(each.path, each.code) for each in checked.problems] == [
        ("/evaluation/named/none", "evaluation_missing"),
        ("/evaluation/named/title/reference", "evaluation_missing"),
    ]


def test_invalid_data_of_a_name_are_found_with_their_pointer() -> None:
    body = {
        "title": "t",
        "budget": {"max_cpc": "1"},
        "evaluation": {"named": {"a": {"pattern": "("}, "b": {"reference": "x", "at": "text"}}},
    }
    checked = check_submission(body, Catalog.of(), verifiers=[])
    assert ("/evaluation/named/a/pattern", "invalid_pattern") in [(each.path, each.code) for each in checked.problems]
    assert "/evaluation/named/b/at" in [each.path for each in checked.problems]
