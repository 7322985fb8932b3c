"""What is measured, as a scraper reads it."""

import pytest
from prometheus_client.parser import text_string_to_metric_families as families

from aex_runtime.http.metrics import GaugeSpec, Metrics
from aex_runtime.measures import CounterSpec, HistogramSpec

VERDICTS = CounterSpec("aex_verdicts_total", "Verdicts", {"verdict": ("passed", "rejected")})
LAG = HistogramSpec("aex_lag_seconds", "Lag", {"topic": ("a",)}, (0.1, 1.0))


async def samples(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """Every sample of ours, by its name and the values of its labels in the order of their names."""
    text = (await metrics.exposition()).decode()
    found = [each for family in families(text) for each in family.samples]
    return {(each.name, *(each.labels[name] for name in sorted(each.labels))): each.value for each in found}


async def test_what_is_declared_is_shown_from_the_start() -> None:
    metrics = Metrics("settlement")
    metrics.declare((VERDICTS, LAG))
    found = await samples(metrics)
    assert found["aex_verdicts_total", "settlement", "passed"] == 0
    assert found["aex_verdicts_total", "settlement", "rejected"] == 0
    assert found["aex_lag_seconds_bucket", "+Inf", "settlement", "a"] == 0


async def test_what_is_counted_and_timed_adds_up() -> None:
    metrics = Metrics("settlement")
    for seconds in (0.05, 0.5, 5.0):
        metrics.count(VERDICTS, "passed")
        metrics.observe(LAG, seconds, "a")
    found = await samples(metrics)
    assert found["aex_verdicts_total", "settlement", "passed"] == 3
    buckets = [found["aex_lag_seconds_bucket", bound, "settlement", "a"] for bound in ("0.1", "1.0", "+Inf")]
    assert buckets == [1, 2, 3]
    assert found["aex_lag_seconds_sum", "settlement", "a"] == pytest.approx(5.55)


async def test_values_that_nobody_declared_are_one_series_however_many_there_are() -> None:
    metrics = Metrics("settlement")
    for number in range(1_000):
        metrics.count(VERDICTS, f"ctr_{number}")
        metrics.observe(LAG, 0.2, f"topic.{number}")
    found = await samples(metrics)
    assert found["aex_verdicts_total", "settlement", "other"] == 1_000
    assert found["aex_lag_seconds_count", "settlement", "other"] == 1_000
    assert len(found) < 40


async def test_a_clock_that_runs_behind_makes_no_time_negative() -> None:
    metrics = Metrics("settlement")
    metrics.observe(LAG, -3.0, "a")
    assert (await samples(metrics))["aex_lag_seconds_sum", "settlement", "a"] == 0


async def test_a_label_more_or_less_than_declared_is_a_mistake_that_shows() -> None:
    metrics = Metrics("settlement")
    for labels in ((), ("passed", "rejected")):
        with pytest.raises(ValueError, match="zip"):
            metrics.count(VERDICTS, *labels)


async def test_no_series_is_spent_on_when_counting_began() -> None:
    async def three() -> float:
        return 3

    metrics = Metrics("settlement", [GaugeSpec("aex_waiting", "Waiting", three)])
    metrics.declare((VERDICTS, LAG))
    text = (await metrics.exposition()).decode()
    assert "_created" not in text
    assert 'aex_waiting{service="settlement"} 3.0' in text


async def test_what_is_of_one_name_is_one_family_whoever_tells_of_it() -> None:
    metrics = Metrics("settlement")
    metrics.declare((VERDICTS,))
    metrics.count(CounterSpec("aex_verdicts_total", "Verdicts", {"verdict": ("passed", "rejected")}), "passed")
    assert (await samples(metrics))["aex_verdicts_total", "settlement", "passed"] == 1
