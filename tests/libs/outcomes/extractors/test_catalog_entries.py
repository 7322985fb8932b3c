from typing import Any

import pytest

from aex_models.results import Provenance
from aex_models.thresholds import MetricType
from aex_outcomes import Catalog, VerificationEngine
from aex_outcomes.config import InvalidConfig, parse_config
from tests.libs.outcomes.engine.builders import criteria, criterion, verify

SAMPLES = "tests.libs.outcomes.extractors.samples"


def config(class_: str, **settings: Any) -> dict[str, Any]:
    return {"extractors": {"mine": {"class": f"{SAMPLES}:{class_}", "config": settings}}}


@pytest.mark.parametrize(
    ("class_", "names"), [("Bare", ["plain", "simple"]), ("Silent", ["plain", "simple"]), ("Derived", ["derived"])]
)
def test_undescribed_metrics_get_plain_entries(class_: str, names: list[str]) -> None:
    known = Catalog.of(parse_config(config(class_)))
    assert [name for name in known.by_name if known.sources[name] == "mine"] == names
    for name in names:
        entry = known.entry(name)
        assert set(entry.metric_types) == {
            MetricType.NUMERIC, MetricType.PERCENTAGE, MetricType.COUNT, MetricType.BOOLEAN, MetricType.LATENCY
        }  # fmt: skip
        assert (entry.range, entry.provenance, entry.needs) == ((None, None), Provenance.COMPUTED, ())
        assert entry.secret, "it may be computed from evaluation data, for all that is known"


async def test_undescribed_metric_is_graded_and_secret() -> None:
    expected = criteria(criterion("plain", "gte", 50, metric_type="percentage"))
    found = await verify(expected, {}, engine=VerificationEngine(config("Bare")))
    [result] = found.criterion_results
    assert (found.success, result.value, result.secret) == (True, 0.5, True)


@pytest.mark.parametrize(
    ("class_", "settings", "message"),
    [
        ("Raising", {}, r"supported_metrics\(\) failed: RuntimeError: the model is not there"),
        ("Awaited", {}, r"supported_metrics\(\) returned a coroutine; expected a list"),
        ("Bare", {"names": None}, r"supported_metrics\(\) returned None"),
        ("Bare", {"names": "plain"}, r"supported_metrics\(\) returned a str; expected a list"),
        ("Bare", {"names": {"plain": 1}}, r"supported_metrics\(\) returned a dict; expected a list"),
        ("Bare", {"names": ["plain", 5]}, r"supported_metrics\(\) lists a int; expected str"),
        ("Bare", {"names": ["two words"]}, "'two words' cannot be a metric's name"),
        ("Bare", {"names": ["custom.plain"]}, "names that begin with custom"),
        ("Bare", {"names": ["plain", "plain"]}, "plain is already computed by mine"),
        ("Bare", {"names": ["latency_ms"]}, "latency_ms is already computed by"),
        ("RaisingEntries", {}, r"catalog_entries\(\) failed: ValidationError"),
        ("InvalidEntries", {}, r"catalog_entries\(\) lists a str; expected MetricEntry"),
    ],
)
def test_errors_of_foreign_extractors_name_their_section(class_: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidConfig, match=message) as refused:
        Catalog.of(parse_config(config(class_, **settings)))
    assert [place for place, _ in refused.value.problems] == ["extractors.mine"]
