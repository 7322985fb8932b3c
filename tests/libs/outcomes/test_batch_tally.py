from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from aex_models.batch import BatchSummary
from aex_models.results import VerificationResult
from aex_outcomes.batch_tally import BatchTally, compute_wilson_interval
from aex_outcomes.engine.job import verify_candidates

WORDS = {"metric": "word_count", "metric_type": "count", "comparison": "gte", "threshold": 3}
PROPORTIONS = st.integers(1, 10_000).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total)))
LATENCY = {"metric": "platform_latency_ms", "metric_type": "latency", "comparison": "lte", "threshold": 10}


def results(*texts: str, criteria: list[dict[str, Any]], latency_ms: float | None = None) -> list[VerificationResult]:
    payload = {
        "contract_id": "none",
        "success_criteria": {"criteria": criteria},
        "platform_latency_ms": latency_ms,
        "candidates": [{"output": {"text": text}, "execution_metadata": {}} for text in texts],
    }
    return [VerificationResult.model_validate(each) for each in verify_candidates(payload)["results"]]


def summary(found: list[VerificationResult], *, problems: int = 0, lost: int = 0) -> BatchSummary:
    tally = BatchTally()
    for each in found:
        tally.count_result(each)
    for by_platform in [False] * problems + [True] * lost:
        tally.count_problem(by_platform=by_platform)
    return tally.summarize()


def test_pass_rate_leaves_out_problems_and_indeterminate_outputs() -> None:
    found = results("a b c", "a b c d", "a", criteria=[WORDS])
    complete = summary(found, problems=2, lost=4)
    assert (complete.outputs, complete.passed, complete.rejected, complete.indeterminate, complete.problems) == (
        9,
        2,
        1,
        4,
        2,
    )
    assert (complete.pass_rate.count, complete.pass_rate.total, complete.pass_rate.share) == (2, 3, 2 / 3)
    assert complete.pass_rate == summary(found).pass_rate
    assert complete.mean_weighted_score == sum(each.weighted_score for each in found) / 3


def test_criterion_that_the_platform_cannot_compute_is_apart() -> None:
    found = results("a b c", "a", criteria=[WORDS, LATENCY]) + results("a", criteria=[WORDS, LATENCY], latency_ms=5)
    words, latency = summary(found).criteria
    assert (words.met.count, words.met.total, words.indeterminate) == (1, 3, 0)
    assert (latency.met.count, latency.met.total, latency.indeterminate) == (1, 1, 2)
    assert (latency.criterion, latency.metric, latency.comparison) == (1, "platform_latency_ms", "lte")


def test_nothing_counted_has_no_share_and_no_interval() -> None:
    empty = summary([], problems=1)
    assert (empty.pass_rate.share, empty.pass_rate.low, empty.mean_weighted_score, empty.criteria) == (
        None,
        None,
        None,
        (),
    )


@given(PROPORTIONS)
def test_interval_equals_that_of_scipy(proportion: tuple[int, int]) -> None:
    expected = binomtest(*proportion).proportion_ci(0.95, method="wilson")
    assert compute_wilson_interval(*proportion) == pytest.approx((expected.low, expected.high), abs=1e-9)


@given(PROPORTIONS)
def test_share_lies_within_its_interval(proportion: tuple[int, int]) -> None:
    low, high = compute_wilson_interval(*proportion)
    assert 0 <= low <= proportion[0] / proportion[1] <= high <= 1


@pytest.mark.parametrize("proportion", [(0, 0), (-1, 3), (4, 3)])
def test_numbers_that_are_no_proportion_are_refused(proportion: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="no proportion"):
        compute_wilson_interval(*proportion)
