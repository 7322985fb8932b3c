"""The names of metrics keep to the conventions, and the table of them is what the services answer."""

import re
from collections.abc import Mapping
from pathlib import Path

from tests.deploy.alarms import ROOT
from tests.deploy.promql import Figure

GUIDE = (ROOT / "deploy" / "dashboards" / "README.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(aex_\w+)` \| (\w+) \| ([\w, ]*) ?\| (process|store) \| .+ \|$", re.MULTILINE)
OF_REQUESTS = {"method", "route", "status"}


def test_the_table_names_every_metric_with_its_type_and_labels(figures: Mapping[str, Figure]) -> None:
    told = {
        name: (kind, set(labels.replace(" ", "").split(",")) - {""}) for name, kind, labels, _ in ROW.findall(GUIDE)
    }
    found = {name: (each.kind, set(each.labels) - {"service"}) for name, each in figures.items()}
    assert len(found) > 30
    assert told == found


def test_names_say_unit_and_kind(figures: Mapping[str, Figure]) -> None:
    for name, each in figures.items():
        assert re.fullmatch(r"aex(_[a-z]+)+", name)
        assert name.endswith("_total") == (each.kind == "counter"), name
        assert name.endswith("_seconds") or each.kind != "histogram", name
        assert not re.search(r"_(ms|millis|minutes|kb|mb|count|sum|bucket|created)$", name), name


def test_every_series_says_of_which_service_it_is(figures: Mapping[str, Figure]) -> None:
    services = {"work-publisher", "verification", "governance", "settlement"}
    for name, each in figures.items():
        assert each.labels["service"], name
        assert each.labels["service"] <= services, name
    of_all = ("aex_http_requests_total", "aex_event_deliveries_total", "aex_background_restarts_total")
    assert all(figures[name].labels["service"] == services for name in of_all)


def test_labels_have_few_values_and_all_but_those_of_requests_are_there_from_the_start(
    figures: Mapping[str, Figure],
) -> None:
    for name, each in figures.items():
        for label, values in each.labels.items():
            assert 0 < len(values) <= 20, (name, label)
            assert "other" not in values, (name, label)
            assert not name.startswith("aex_http_") or label in OF_REQUESTS | {"service"}
    assert figures["aex_verdicts_total"].labels["verdict"] == {"passed", "rejected", "indeterminate"}
    assert figures["aex_event_age_seconds"].labels["topic"] >= {"outcome.verified", "output.submitted"}
    assert "custom" in figures["aex_extraction_seconds"].labels["extractor"]


def test_the_table_could_be_wrong(figures: Mapping[str, Figure]) -> None:
    told = {name for name, *_ in ROW.findall(GUIDE.replace("`aex_verdicts_total`", "`aex_verdict_total`"))}
    assert told ^ set(figures) == {"aex_verdicts_total", "aex_verdict_total"}


def test_the_guide_names_no_file_that_is_not_there() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", GUIDE)
    assert links
    assert [link for link in links if not (Path(ROOT) / "deploy" / "dashboards" / link).exists()] == []
