"""Histograms and profiles: medians and quantiles to the width of a bucket."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_governance.rules.histogram import (
    Histogram,
    bucket_of,
    build_agent_profile,
    build_domain_profile,
    build_metric_profile,
    weighted_median,
)
from aex_governance.rules.projection_documents import Buckets, ProfileTally

counts = st.dictionaries(st.integers(-500, 500), st.integers(1, 9), min_size=1, max_size=12)


@pytest.mark.parametrize("empty", [Histogram(), Histogram({3: 0})], ids=["no bucket", "a bucket of nothing"])
def test_empty_histogram_has_no_figures(empty: Histogram) -> None:
    assert empty.total == 0
    for figure in (
        empty.bucket_distribution.median,
        empty.value_distribution.median_absolute_deviation,
        partial(empty.bucket_distribution.median_distance_quantile, 0.9, above_median=True),
    ):
        with pytest.raises(ValueError, match="empty histogram"):
            figure()


def test_even_total_has_the_mean_of_the_middle() -> None:
    assert weighted_median([(1.0, 2), (4.0, 2)]) == 2.5
    assert weighted_median([(1.0, 2), (4.0, 3)]) == 4.0


@given(counts, st.sampled_from([0.0, 0.5, 0.9, 1.0]), st.booleans())
def test_reach_covers_the_share(given: dict[int, int], share: float, above: bool) -> None:
    histogram = Histogram(given)
    median, reach = (
        histogram.bucket_distribution.median(),
        histogram.bucket_distribution.median_distance_quantile(share, above),
    )
    gaps = [bucket - median if above else median - bucket for bucket, count in given.items() for _ in range(count)]
    side = [gap for gap in gaps if gap >= 0]
    assert reach in side
    assert sum(gap <= reach for gap in side) >= share * len(side)
    assert sum(gap < reach for gap in side) <= share * len(side)


def test_metric_without_values_has_no_profile() -> None:
    assert build_metric_profile(Buckets()) is None
    profile = build_domain_profile(
        "general", ProfileTally(histograms={"rougeL": Buckets(), "bleu": Buckets(counts={0: 1})})
    )
    assert set(profile.metrics) == {"bleu"}


@pytest.mark.parametrize(("level", "width"), [(0, 0.02), (3, 0.16)])
def test_median_and_deviation_are_in_the_unit_of_the_metric(level: int, width: float) -> None:
    counts = {bucket_of(value) >> level: 1 for value in (0.2, 0.4, 0.9)}
    found = build_metric_profile(Buckets(level=level, counts=counts))
    assert found is not None
    assert found.count == 3
    assert found.median == pytest.approx(0.4, rel=width)
    assert found.mad == pytest.approx(0.2, abs=0.4 * width + 0.2 * width)


def test_no_outcome_has_no_success_rate() -> None:
    assert build_domain_profile("general", ProfileTally()).success_rate is None
    assert build_agent_profile("bot", ProfileTally(outcomes=4, successes=1), ()).success_rate == 0.25
