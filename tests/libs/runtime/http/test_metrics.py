import pytest
from prometheus_client.parser import text_string_to_metric_families as families

from aex_runtime.http.metrics import GaugeSpec, Metrics
from aex_runtime.measures import CounterSpec, HistogramSpec

VERDICTS = CounterSpec("aex_verdicts_total", "Verdicts", {"verdict": ("passed", "rejected")})
LAG = HistogramSpec("aex_lag_seconds", "Lag", {"topic": ("a",)}, (0.1, 1.0))


async def samples(metrics: Metrics) -> dict[tuple[str, ...], float]:
    text = (await metrics.render()).decode()
    found = [each for family in families(text) for each in family.samples]
    return {(each.name, *(each.labels[name] for name in sorted(each.labels))): each.value for each in found}


async def test_declared_metrics_start_at_zero_and_add_up() -> None:
    metrics = Metrics("settlement")
    metrics.declare((VERDICTS, LAG))
    found = await samples(metrics)
    assert [found["aex_verdicts_total", "settlement", verdict] for verdict in ("passed", "rejected")] == [0, 0]
    assert found["aex_lag_seconds_bucket", "+Inf", "settlement", "a"] == 0
    metrics.observe(LAG, -3.0, "a")  # a clock may run behind
    assert (await samples(metrics))["aex_lag_seconds_sum", "settlement", "a"] == 0
    metrics = Metrics("settlement")
    for seconds in (0.05, 0.5, 5.0):
        metrics.count(VERDICTS, "passed")
        metrics.observe(LAG, seconds, "a")
    found = await samples(metrics)
    assert found["aex_verdicts_total", "settlement", "passed"] == 3
    buckets = [found["aex_lag_seconds_bucket", bound, "settlement", "a"] for bound in ("0.1", "1.0", "+Inf")]
    assert buckets == [1, 2, 3]
    assert found["aex_lag_seconds_sum", "settlement", "a"] == pytest.approx(5.55)


async def test_undeclared_label_values_share_one_series() -> None:
    metrics = Metrics("settlement")
    for number in range(1_000):
        metrics.count(VERDICTS, f"ctr_{number}")
        metrics.observe(LAG, 0.2, f"topic.{number}")
    found = await samples(metrics)
    assert found["aex_verdicts_total", "settlement", "other"] == 1_000
    assert found["aex_lag_seconds_count", "settlement", "other"] == 1_000
    assert len(found) < 40


async def test_wrong_number_of_labels_fails_and_equal_names_share_a_family() -> None:
    metrics = Metrics("settlement")
    metrics.declare((VERDICTS,))
    metrics.count(CounterSpec("aex_verdicts_total", "Verdicts", {"verdict": ("passed", "rejected")}), "passed")
    assert (await samples(metrics))["aex_verdicts_total", "settlement", "passed"] == 1
    for labels in ((), ("passed", "rejected")):
        with pytest.raises(ValueError, match="zip"):
            metrics.count(VERDICTS, *labels)


async def test_no_created_series_is_exposed() -> None:
    async def three() -> float:
        return 3

    metrics = Metrics("settlement")
    metrics.add_gauge(GaugeSpec("aex_waiting", "Waiting", three))
    metrics.declare((VERDICTS, LAG))
    text = (await metrics.render()).decode()
    assert "_created" not in text
    assert 'aex_waiting{service="settlement"} 3.0' in text
