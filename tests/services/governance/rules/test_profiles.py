"""What an agent's record says: rates, counts, and the metrics that were seen."""

import pytest

from aex_governance.rules.histogram import bucket_of
from aex_governance.rules.profiles import agent_profile, domain_profile, metric_profile
from aex_governance.rules.projection.documents import Buckets, Tally


def test_a_metric_that_was_never_seen_has_no_profile() -> None:
    assert metric_profile(Buckets()) is None
    shown = domain_profile("general", Tally(histograms={"rougeL": Buckets(), "bleu": Buckets(counts={0: 1})}))
    assert set(shown.metrics) == {"bleu"}


@pytest.mark.parametrize(("level", "width"), [(0, 0.02), (3, 0.16)])
def test_median_and_deviation_are_in_the_metrics_unit_to_the_width_of_a_bucket(level: int, width: float) -> None:
    counts = {bucket_of(value) >> level: 1 for value in (0.2, 0.4, 0.9)}
    found = metric_profile(Buckets(level=level, counts=counts))
    assert found is not None
    assert found.count == 3
    assert found.median == pytest.approx(0.4, rel=width)
    assert found.mad == pytest.approx(0.2, abs=0.4 * width + 0.2 * width)


def test_of_no_outcome_there_is_no_rate_of_success() -> None:
    assert domain_profile("general", Tally()).success_rate is None
    assert agent_profile("bot", Tally(outcomes=4, successes=1), ()).success_rate == 0.25


def test_counts_are_listed_by_name() -> None:
    flags = {"velocity": 1, "near_duplicate_output": 2}
    assert list(agent_profile("bot", Tally(flags=flags), ()).flags) == ["near_duplicate_output", "velocity"]
