from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aex_models.canonical import canonical_bytes
from aex_models.criteria import SuccessCriteria
from aex_models.large_thresholds import omit_large_thresholds, restore_result_thresholds
from aex_models.results import VerificationResult
from aex_models.thresholds import ComparisonOperator, MetricType
from tests.examples import examples
from tests.libs.models.results import a_criterion, a_result

terms = st.lists(st.text("aé世", min_size=1, max_size=120), min_size=1, max_size=4)


def a_terms_criterion(threshold: Any, **changes: Any) -> dict[str, Any]:
    criterion = {"metric": "contains_keywords", "metric_type": "contains", "comparison": "contains_all"}
    return criterion | {"threshold": threshold} | changes


def a_result_for(criteria: SuccessCriteria) -> VerificationResult:
    results = [
        a_criterion(
            each.metric,
            metric_type=each.metric_type,
            comparison=each.comparison,
            threshold=each.threshold,
            criterion=at,
        )
        for at, each in enumerate(criteria.criteria)
    ]
    return a_result(criterion_results=results)


@given(st.lists(terms, min_size=1, max_size=4, unique_by=str))
@settings(max_examples=examples(200))
def test_what_is_omitted_is_restored_from_the_criteria(thresholds: list[list[str]]) -> None:
    criteria = SuccessCriteria.model_validate({"criteria": [a_terms_criterion(each) for each in thresholds]})
    result = a_result_for(criteria)
    stored = VerificationResult.model_validate_json(omit_large_thresholds(result).model_dump_json())
    kept = [each if len(canonical_bytes(each)) <= 256 else None for each in thresholds]
    assert [each.threshold for each in stored.criterion_results] == kept
    assert restore_result_thresholds(stored, criteria) == result


@pytest.mark.parametrize(("length", "is_kept"), [(252, True), (253, False)])
def test_256_bytes_are_kept_and_one_more_is_not(length: int, is_kept: bool) -> None:
    result = a_result(criterion_results=[a_criterion(threshold=["x" * length], criterion=0)])
    assert (omit_large_thresholds(result) == result) is is_kept


def test_a_result_without_an_index_keeps_its_threshold() -> None:
    old = a_result(
        criterion_results=[
            a_criterion(
                "contains_keywords",
                metric_type=MetricType.CONTAINS,
                comparison=ComparisonOperator.CONTAINS_ALL,
                threshold=["x" * 400],
            )
        ]
    )
    assert omit_large_thresholds(old) == old
    assert restore_result_thresholds(old, None) == old


def test_an_index_beyond_the_criteria_stays_without_threshold() -> None:
    strange = a_result(criterion_results=[a_criterion(threshold=None, criterion=3)])
    assert restore_result_thresholds(strange, None) == strange
