import math
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from aex_models.results import CriterionResult
from aex_models.thresholds import MetricType
from aex_outcomes import VerificationEngine
from tests.libs.outcomes.engine.builders import verify
from tests.libs.outcomes.engine.stories import one, sample, valid

ORDERED = ("gte", "gt", "lte", "lt", "eq", "neq")
MEETS = {  # a value below the threshold, at it, and above it
    "gte": (False, True, True),
    "gt": (False, False, True),
    "lte": (True, True, False),
    "lt": (True, False, False),
    "eq": (False, True, False),
    "neq": (True, False, True),
}
VALUES: dict[str, tuple[float, float, float]] = {  # the least, one between, the greatest worth trying
    "numeric": (-1e300, 2.5, 1e300),
    "percentage": (0, 0.5, 1),
    "latency": (0, 500, 1e12),
    "count": (0, 5, 2**53 - 1),
    "accuracy": (0.0, 0.9, 1),
    "bleu_score": (0, 0.5, 1.0),
    "rouge_score": (0, 0.25, 1),
    "f1_score": (0, 0.75, 1),
    "contains": (0.0, 0.5, 1.0),
    "custom": (-7, 2.5, 1e9),
}
"""The types whose values are numbers."""
SHARES = ("percentage", "accuracy", "bleu_score", "rouge_score", "f1_score", "contains")
BOOLEANS = ("boolean", "matches_schema")
TERMS = ("contains_all", "contains_any")
ALL = (*ORDERED, "in_range", *TERMS)

NO_NUMBERS = {
    "true": True,
    "false": False,
    "text": "0.5",
    "a list": [0.5],
    "an object": {"value": 0.5},
    "NaN": math.nan,
    "infinity": math.inf,
    "minus infinity": -math.inf,
    "an integer that no double holds": 2**53 + 1,
    "a huge integer": 10**400,
}
OUT_OF_RANGE: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(SHARES, (-1e-9, 1.0000001, 92, -1)),
    "latency": (-1, -1e-9),
    "count": (-1, 1.5, 0.1, -0.5),
}


ENGINE = VerificationEngine(sample(None, types=[*MetricType]) | {"caching": {"extractor_results_ttl": 0}})


async def judged(value: Any, metric_type: str, comparison: str, threshold: Any, **more: Any) -> CriterionResult:
    """Return the engine's result on a metric of this value."""
    extractor: Any = ENGINE.catalog.extractors["mine"]
    extractor.value = value
    [found] = (
        await verify(valid([one("shouting", metric_type, comparison, threshold, **more)]), {}, engine=ENGINE)
    ).criterion_results
    return found


def is_refused(metric_type: str, comparison: str, threshold: Any) -> bool:
    try:
        valid([one("shouting", metric_type, comparison, threshold)])
    except ValidationError:
        return True
    return False


@pytest.mark.parametrize("comparison", ORDERED)
@pytest.mark.parametrize("metric_type", VALUES)
async def test_a_number_below_at_and_above_its_threshold(metric_type: str, comparison: str) -> None:
    threshold = VALUES[metric_type][1]
    found = [await judged(value, metric_type, comparison, threshold) for value in VALUES[metric_type]]
    assert tuple(each.met for each in found) == MEETS[comparison]
    assert [(each.value, each.error) for each in found] == [(value, None) for value in VALUES[metric_type]]


@pytest.mark.parametrize("metric_type", VALUES)
async def test_a_range_includes_both_ends_and_may_have_one(metric_type: str) -> None:
    low, middle, high = VALUES[metric_type]
    ranges: list[tuple[Mapping[str, float], tuple[bool, bool, bool]]] = [
        ({"min": low, "max": high}, (True, True, True)),
        ({"min": middle, "max": middle}, (False, True, False)),
        ({"min": middle}, (False, True, True)),
        ({"max": middle}, (True, True, False)),
    ]
    for threshold, expected in ranges:
        found = [await judged(value, metric_type, "in_range", threshold) for value in VALUES[metric_type]]
        assert tuple(each.met for each in found) == expected, threshold


@pytest.mark.parametrize("comparison", [*ORDERED, "in_range"])
@pytest.mark.parametrize("metric_type", VALUES)
async def test_what_is_no_number_meets_nothing(metric_type: str, comparison: str) -> None:
    threshold = {"min": VALUES[metric_type][0]} if comparison == "in_range" else VALUES[metric_type][1]
    for name, value in NO_NUMBERS.items():
        found = await judged(value, metric_type, comparison, threshold)
        assert found.error is not None, name
        assert (found.met, found.value, found.error.code) == (False, None, "not_a_number"), name


@pytest.mark.parametrize("comparison", [*ORDERED, "in_range"])
@pytest.mark.parametrize("metric_type", OUT_OF_RANGE)
async def test_what_the_type_rules_out_meets_nothing(metric_type: str, comparison: str) -> None:
    threshold = {"min": 0} if comparison == "in_range" else VALUES[metric_type][1]
    for value in OUT_OF_RANGE[metric_type]:
        found = await judged(value, metric_type, comparison, threshold)
        assert found.error is not None, value
        assert (found.met, found.value, found.error.code) == (False, None, "out_of_range"), value


@pytest.mark.parametrize("comparison", [*ORDERED, "in_range"])
@pytest.mark.parametrize("metric_type", VALUES)
async def test_what_is_missing_meets_nothing(metric_type: str, comparison: str) -> None:
    threshold = {"min": VALUES[metric_type][0]} if comparison == "in_range" else VALUES[metric_type][1]
    found = await judged(None, metric_type, comparison, threshold)
    assert found.error is not None
    assert (found.met, found.error.code) == (False, "metric_missing")


@pytest.mark.parametrize("metric_type", BOOLEANS)
async def test_booleans_are_equal_or_not(metric_type: str) -> None:
    for value in (True, False):
        for threshold in (True, False):
            assert (await judged(value, metric_type, "eq", threshold)).met is (value is threshold)
            assert (await judged(value, metric_type, "neq", threshold)).met is (value is not threshold)


@pytest.mark.parametrize("comparison", ["eq", "neq"])
@pytest.mark.parametrize("metric_type", [*BOOLEANS, "custom"])
async def test_what_is_no_boolean_meets_nothing(metric_type: str, comparison: str) -> None:
    values: list[Any] = [1, 0, 1.0, "true", [True], {}, math.nan]
    for value in values:
        found = await judged(value, metric_type, comparison, True)
        assert found.error is not None, value
        assert (found.met, found.error.code) == (False, "not_a_boolean"), value


async def test_floats_are_equal_within_a_ten_thousandth_and_counts_exactly() -> None:
    for metric_type in VALUES:
        exact = metric_type == "count"
        near, far = (5, 6) if exact else (0.50009, 0.50011)
        threshold = 5 if exact else 0.5
        assert (await judged(near, metric_type, "eq", threshold)).met, metric_type
        assert not (await judged(far, metric_type, "eq", threshold)).met, metric_type
    assert not (await judged(2**53 - 1, "count", "eq", 2**53 - 2)).met
    assert not (await judged(1e300, "numeric", "eq", 1.0000000001e300)).met


@pytest.mark.parametrize(
    ("value", "threshold", "scale", "met"),
    [
        (0.9, 0.9, None, True),
        (0.9, 90, None, True),
        (0.89, 90, None, False),
        (1, 1, None, True),
        (0.99, 1, None, False),
        (0.01, 1, "percent", True),
        (0.02, 1.5, None, True),
        (0.9, 0.9, "fraction", True),
        (0.005, 0.5, "percent", True),
        (0.004, 0.5, "percent", False),
    ],
)
async def test_the_threshold_of_a_percentage_may_be_in_percent_and_built_in_values_never_are(
    value: float, threshold: float, scale: str | None, met: bool
) -> None:
    found = await judged(value, "percentage", "gte", threshold, scale=scale)
    assert (found.met, found.value) == (met, value)


async def test_a_range_in_percent_is_one_where_either_end_is_above_1() -> None:
    for threshold, low, high in (
        ({"min": 0.5, "max": 90}, 0.005, 0.9),
        ({"min": 50}, 0.5, 1),
        ({"min": 0.5, "max": 1}, 0.5, 1),
    ):
        for value, met in ((low, True), (high, True), (low - 1e-3, False)):
            assert (await judged(value, "percentage", "in_range", threshold)).met is met, (threshold, value)


@pytest.mark.parametrize("metric_type", [*VALUES, *BOOLEANS])
def test_each_type_takes_its_comparisons_and_no_other(metric_type: str) -> None:
    thresholds: dict[str, Any] = (
        dict.fromkeys(ORDERED, 0.0) | {"in_range": {"min": 0}} | {each: ["a"] for each in TERMS}
    )
    if metric_type in BOOLEANS:
        thresholds |= dict.fromkeys(ORDERED, True)
    taken = {each for each in ALL if not is_refused(metric_type, each, thresholds[each])}
    expected = {"eq", "neq"} if metric_type in BOOLEANS else {*ORDERED, "in_range"}
    assert taken == expected | (set(TERMS) if metric_type == "contains" else set())


@pytest.mark.parametrize("comparison", ORDERED)
@pytest.mark.parametrize("metric_type", VALUES)
def test_a_threshold_of_the_wrong_kind_is_refused(metric_type: str, comparison: str) -> None:
    bad = {**NO_NUMBERS, "null": None, "an empty list": [], "an empty object": {}, "a range": {"min": 0}}
    if metric_type == "custom" and comparison in {"eq", "neq"}:
        bad = {name: each for name, each in bad.items() if not isinstance(each, bool)}
    assert [name for name, threshold in bad.items() if not is_refused(metric_type, comparison, threshold)] == []


@pytest.mark.parametrize(
    ("metric_type", "thresholds"),
    [
        *((each, (-0.001, 1.001, 92, -1)) for each in SHARES if each != "percentage"),
        ("percentage", (-1, -0.001, 100.001, 1e9)),
        ("latency", (-1, -0.001)),
        ("count", (-1, 1.5, 0.5)),
    ],
)
def test_a_threshold_that_no_value_could_have_is_refused(metric_type: str, thresholds: tuple[float, ...]) -> None:
    for threshold in thresholds:
        assert all(is_refused(metric_type, each, threshold) for each in ORDERED), threshold
        assert is_refused(metric_type, "in_range", {"max": threshold}), threshold


@pytest.mark.parametrize("metric_type", VALUES)
def test_a_range_without_sense_is_refused(metric_type: str) -> None:
    low, middle, high = VALUES[metric_type]
    ranges: list[Any] = [
        {}, {"min": high, "max": low}, {"min": middle, "max": low}, {"min": None}, {"max": None, "min": low},
        {"min": str(low)}, {"min": True}, {"max": False}, {"min": low, "top": high}, {"minimum": low}, middle, [low],
        [low, high], None, "0..1", {"min": math.nan}, {"max": math.inf}, {"min": -math.inf}, {"max": 10**400},
    ]  # fmt: skip
    assert [each for each in ranges if not is_refused(metric_type, "in_range", each)] == []


@pytest.mark.parametrize("metric_type", BOOLEANS)
def test_a_threshold_that_is_no_boolean_is_refused(metric_type: str) -> None:
    bad: list[Any] = [1, 0, 1.0, "true", None, [True], math.nan] + ([{}] if metric_type == "boolean" else [])
    assert [
        each for each in bad if not (is_refused(metric_type, "eq", each) and is_refused(metric_type, "neq", each))
    ] == []


@pytest.mark.parametrize("comparison", TERMS)
def test_terms_that_nothing_could_match_are_refused(comparison: str) -> None:
    bad: list[Any] = [
        [], "", "cat", [""], ["cat", " "], ["\t\n"], [1], [None], [["cat"]], None, {}, {"cat": 1}, True, 0.5,
        ["x" * 501], ["cat"] * 201, ["\ud800"],
    ]  # fmt: skip
    assert [each for each in bad if not is_refused("contains", comparison, each)] == []


@pytest.mark.parametrize("bad", [math.nan, math.inf, 2**53 + 1, "\ud800", {1: 2}, {1, 2}, b"x"])
def test_a_schema_that_json_cannot_hold_is_refused(bad: Any) -> None:
    assert is_refused("matches_schema", "eq", {"properties": {"a": {"const": bad}}})
