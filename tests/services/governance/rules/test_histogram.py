"""Histograms of a metric: medians and reaches to the width of a bucket, and none of what nobody has seen."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_governance.rules.histogram import Histogram, weighted_median

counts = st.dictionaries(st.integers(-500, 500), st.integers(1, 9), min_size=1, max_size=12)


@pytest.mark.parametrize(
    "figure",
    [
        Histogram.median,
        Histogram.deviation,
        Histogram.median_value,
        Histogram.deviation_value,
        lambda empty: empty.reach(0.9, above=True),
        lambda empty: empty.reach_value(0.9, above=False),
    ],
    ids=["median", "deviation", "median value", "deviation value", "reach", "reach value"],
)
@pytest.mark.parametrize("empty", [Histogram(), Histogram({3: 0})], ids=["no bucket", "a bucket of nothing"])
def test_an_empty_histogram_has_no_figures(figure: Callable[[Histogram], float], empty: Histogram) -> None:
    assert empty.total == 0
    with pytest.raises(ValueError, match="empty histogram"):
        figure(empty)


def test_an_even_total_has_its_median_half_way() -> None:
    assert weighted_median([(1.0, 2), (4.0, 2)]) == 2.5
    assert weighted_median([(1.0, 2), (4.0, 3)]) == 4.0


@given(counts, st.sampled_from([0.0, 0.5, 0.9, 1.0]), st.booleans())
def test_the_share_asked_for_lies_within_the_reach(given: dict[int, int], share: float, above: bool) -> None:
    histogram = Histogram(given)
    median, reach = histogram.median(), histogram.reach(share, above)
    gaps = [bucket - median if above else median - bucket for bucket, count in given.items() for _ in range(count)]
    side = [gap for gap in gaps if gap >= 0]
    assert reach in side
    assert sum(gap <= reach for gap in side) >= share * len(side)
    assert sum(gap < reach for gap in side) <= share * len(side)
