"""The dashboard shows every metric, and its queries and the alarms' are valid PromQL."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from deploy.write_dashboards import COLUMNS, FILE, build_file_text
from tests.deploy.alarm_guide import ALARMS
from tests.parts.promql import Metric, find_metrics, find_problems

DASHBOARD: dict[str, Any] = json.loads(FILE.read_text())
TILES: list[dict[str, Any]] = DASHBOARD["mosaicLayout"]["tiles"]
LEFT_OUT = {
    "aex_data_dir_free_bytes": "there is no data directory on Google Cloud",
    "aex_queue_oldest_seconds": "Google measures Pub/Sub's queues, and the dashboard shows that",
}
PROMTOOL = shutil.which("promtool")


def list_sources(widget: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the data sets of a widget."""
    if "scorecard" in widget:
        yield widget["scorecard"]
    yield from widget.get("xyChart", {}).get("dataSets", ())


SOURCES = [[*list_sources(tile["widget"])] for tile in TILES]
QUERIES = [each["timeSeriesQuery"]["prometheusQuery"] for sources in SOURCES for each in sources]
ALARM_QUERIES = [figure["query"] for alarm in ALARMS for figure in alarm.get("figures", ())]


def test_committed_file_equals_its_panels() -> None:
    assert FILE.read_text() == build_file_text(), "the panels have changed: make dashboards"


def test_tiles_have_distinct_titles_known_kinds_and_fields() -> None:
    titles = [tile["widget"]["title"] for tile in TILES]
    assert len(set(titles)) == len(titles) > 30
    for tile in TILES:
        assert set(tile) == {"xPos", "yPos", "width", "height", "widget"}
        assert set(tile["widget"]) - {"title"} < {"sectionHeader", "scorecard", "xyChart", "logsPanel"}
    for each in (each for sources in SOURCES for each in sources):
        assert set(each["timeSeriesQuery"]) == {"prometheusQuery", "unitOverride"}
        assert each["timeSeriesQuery"]["unitOverride"] in {"1", "s", "1/s", "s/s"}
        if "plotType" in each:
            assert (each["plotType"], each["targetAxis"]) == ("LINE", "Y1")
            assert set(each) <= {"timeSeriesQuery", "plotType", "targetAxis", "legendTemplate"}
        else:
            assert each["thresholds"][0].keys() == {"value", "color", "direction"}


def test_tiles_do_not_overlap_or_leave_the_grid() -> None:
    occupied: set[tuple[int, int]] = set()
    for tile in TILES:
        xs, ys = range(tile["xPos"], tile["xPos"] + tile["width"]), range(tile["yPos"], tile["yPos"] + tile["height"])
        own = {(x, y) for x in xs for y in ys}
        assert xs.stop <= COLUMNS
        assert not own & occupied, tile["widget"]["title"]
        occupied |= own


def test_line_with_a_legend_is_a_single_line() -> None:
    for sources in SOURCES:
        named = [each for each in sources if "legendTemplate" in each]
        assert len({each["legendTemplate"] for each in named}) == len(named)
        for query in (each["timeSeriesQuery"]["prometheusQuery"] for each in named):
            assert not re.search(r"by \((?!le\))", query), query


@pytest.mark.parametrize("query", [*dict.fromkeys((*QUERIES, *ALARM_QUERIES))])
def test_query_is_promql_about_existing_series(query: str, metrics: Mapping[str, Metric]) -> None:
    assert find_problems(query, metrics) == []


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not on the PATH")
def test_promtool_accepts_the_queries(tmp_path: Path) -> None:
    rules = [{"alert": f"Query{i}", "expr": query} for i, query in enumerate((*QUERIES, *ALARM_QUERIES))]
    file = tmp_path / "rules.json"  # JSON is YAML
    file.write_text(json.dumps({"groups": [{"name": "queries", "rules": rules}]}))
    checked = subprocess.run([str(PROMTOOL), "check", "rules", str(file)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_every_metric_is_on_the_dashboard_or_left_out_for_a_reason(metrics: Mapping[str, Metric]) -> None:
    displayed = {name for query in QUERIES for name in find_metrics(query, metrics)}
    assert set(metrics) - displayed == set(LEFT_OUT)


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("sum(rate(aex_verdict_total[5m]))", "no such series"),
        ('sum(rate(aex_verdicts_total{verdict="accepted"}[5m]))', "verdict is never accepted"),
        ('sum(rate(aex_verdicts_total{contract_id="x"}[5m]))', "no label contract_id"),
        ("sum(aex_verdicts_total)", "a counter without a rate"),
        ("rate(aex_dead_letters[5m])", "a gauge with a rate"),
        ("histogram_quantile(0.9, sum(rate(aex_settlement_lag_seconds_bucket[5m])))", "buckets without their quantile"),
    ],
)
def test_query_without_an_answer_is_reported(query: str, problem: str, metrics: Mapping[str, Metric]) -> None:
    assert any(problem in found for found in find_problems(query, metrics)), find_problems(query, metrics)
