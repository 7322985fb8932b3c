"""Metric names follow the conventions, and the table of metrics equals what the services expose."""

import re
from collections.abc import Mapping

from tests.deploy.documents import ROOT
from tests.parts.promql import Metric

FOLDER = ROOT / "deploy" / "dashboards"
GUIDE = (FOLDER / "README.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(aex_\w+)` \| (\w+) \| ([\w, ]*) ?\| (process|store) \| .+ \|$", re.MULTILINE)


def test_table_names_every_metric_with_type_and_labels(metrics: Mapping[str, Metric]) -> None:
    rows = {
        name: (kind, set(labels.replace(" ", "").split(",")) - {""}) for name, kind, labels, _ in ROW.findall(GUIDE)
    }
    assert len(metrics) > 30
    assert rows == {name: (each.kind, set(each.labels) - {"service"}) for name, each in metrics.items()}


def test_names_show_unit_and_kind(metrics: Mapping[str, Metric]) -> None:
    for name, each in metrics.items():
        assert re.fullmatch(r"aex(_[a-z]+)+", name)
        assert name.endswith("_total") == (each.kind == "counter"), name
        assert name.endswith("_seconds") or each.kind != "histogram", name
        assert not re.search(r"_(ms|millis|minutes|kb|mb|count|sum|bucket|created)$", name), name


def test_every_series_has_its_service(metrics: Mapping[str, Metric]) -> None:
    services = {"work-publisher", "verification", "governance", "settlement"}
    for name, each in metrics.items():
        assert each.labels["service"], name
        assert each.labels["service"] <= services, name
    of_all = ("aex_http_requests_total", "aex_event_deliveries_total", "aex_background_restarts_total")
    assert all(metrics[name].labels["service"] == services for name in of_all)


def test_labels_have_few_values_and_are_present_before_the_first_contract(metrics: Mapping[str, Metric]) -> None:
    for name, each in metrics.items():
        for label, values in each.labels.items():
            assert 0 < len(values) <= 20, (name, label)
            assert "other" not in values, (name, label)
            assert not name.startswith("aex_http_") or label in {"method", "route", "status", "service"}
    assert metrics["aex_verdicts_total"].labels["verdict"] == {"passed", "rejected", "indeterminate"}
    assert metrics["aex_event_age_seconds"].labels["topic"] >= {"outcome.verified", "output.submitted"}
    assert "custom" in metrics["aex_extraction_seconds"].labels["extractor"]
