"""The dashboard asks for what there is, all of it, in PromQL that can be read; and the alarms do, too."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from deploy.write_dashboards import COLUMNS, FILE, content
from tests.deploy.alarms import ROOT
from tests.deploy.promql import Figure, metrics_in, problems

DASHBOARD: dict[str, Any] = json.loads(FILE.read_text())
TILES: list[dict[str, Any]] = DASHBOARD["mosaicLayout"]["tiles"]
ALARMS: list[dict[str, Any]] = json.loads((ROOT / "deploy" / "alarms.json").read_text())
LEFT_OUT = {
    "aex_data_dir_free_bytes": "there is no data directory on Google Cloud",
    "aex_queue_oldest_seconds": "of Pub/Sub's queues Google tells, and the dashboard shows that",
}
KINDS = {"sectionHeader", "scorecard", "xyChart", "logsPanel"}
UNITS = {"1", "s", "1/s", "s/s"}


def sources(widget: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The data of a widget, with how each is drawn."""
    if "scorecard" in widget:
        yield widget["scorecard"]
    yield from widget.get("xyChart", {}).get("dataSets", ())


QUERIES = [each["timeSeriesQuery"]["prometheusQuery"] for tile in TILES for each in sources(tile["widget"])]
RINGING = [figure["query"] for alarm in ALARMS for figure in alarm.get("figures", ())]


def test_the_committed_file_is_what_its_panels_say() -> None:
    assert FILE.read_text() == content(), "the panels have changed: make dashboards"


def test_each_tile_is_a_widget_of_a_kind_that_google_knows_with_a_title_of_its_own() -> None:
    titles = [tile["widget"]["title"] for tile in TILES]
    assert len(set(titles)) == len(titles) > 30
    for tile in TILES:
        assert set(tile) == {"xPos", "yPos", "width", "height", "widget"}
        (kind,) = set(tile["widget"]) - {"title"}
        assert kind in KINDS


def test_no_tile_lies_on_another_or_beside_the_grid() -> None:
    taken: set[tuple[int, int]] = set()
    for tile in TILES:
        xs, ys = range(tile["xPos"], tile["xPos"] + tile["width"]), range(tile["yPos"], tile["yPos"] + tile["height"])
        own = {(x, y) for x in xs for y in ys}
        assert xs.stop <= COLUMNS
        assert not own & taken, tile["widget"]["title"]
        taken |= own


def test_charts_and_cards_have_the_fields_of_google_s_format() -> None:
    for tile in TILES:
        for each in sources(tile["widget"]):
            assert set(each["timeSeriesQuery"]) == {"prometheusQuery", "unitOverride"}
            assert each["timeSeriesQuery"]["unitOverride"] in UNITS
            if "plotType" in each:
                assert (each["plotType"], each["targetAxis"]) == ("LINE", "Y1")
                assert set(each) <= {"timeSeriesQuery", "plotType", "targetAxis", "legendTemplate"}
            else:
                assert each["thresholds"][0].keys() == {"value", "color", "direction"}


def test_lines_that_bear_one_name_are_one_line() -> None:
    for tile in TILES:
        drawn = [each for each in sources(tile["widget"]) if "plotType" in each]
        named = [each for each in drawn if "legendTemplate" in each]
        assert len({each["legendTemplate"] for each in named}) == len(named)
        for each in named:  # of several they would all be called the same
            query = each["timeSeriesQuery"]["prometheusQuery"]
            assert not re.search(r"by \((?!le\))", query), query


@pytest.mark.parametrize("query", [*dict.fromkeys((*QUERIES, *RINGING))])
def test_a_question_is_promql_about_series_that_there_are(query: str, figures: Mapping[str, Figure]) -> None:
    assert problems(query, figures) == []


def test_every_metric_is_on_the_dashboard_or_left_out_for_a_reason(figures: Mapping[str, Figure]) -> None:
    shown = {name for query in QUERIES for name in metrics_in(query, figures)}
    assert set(figures) - shown == set(LEFT_OUT)


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("sum(rate(aex_verdict_total[5m]))", "no such series"),
        ("sum by (kind) (rate(aex_verdicts_total[5m]))", "no label kind"),
        ('sum(rate(aex_verdicts_total{verdict="accepted"}[5m]))', "verdict is never accepted"),
        ('sum(rate(aex_verdicts_total{contract_id="x"}[5m]))', "no label contract_id"),
        ("sum(aex_verdicts_total)", "a counter without a rate"),
        ("rate(aex_dead_letters[5m])", "a gauge with a rate"),
        ("sum(rate(aex_settlement_lag_seconds[5m]))", "no such series"),
        ("sum by (le) (rate(aex_settlement_lag_seconds_bucket[5m]))", "buckets without their quantile"),
        ("histogram_quantile(0.9, sum(rate(aex_settlement_lag_seconds_bucket[5m])))", "buckets without their quantile"),
        ("max(aex_dead_letters_count)", "no such series"),
    ],
)
def test_a_question_that_could_not_be_answered_would_be_found(
    query: str, problem: str, figures: Mapping[str, Figure]
) -> None:
    assert any(problem in found for found in problems(query, figures)), problems(query, figures)


@pytest.mark.parametrize(
    "query", ["sum(rate(aex_verdicts_total[5m])", "sum(rate(aex_verdicts_total))", "max by () of x"]
)
def test_what_is_no_promql_is_found(query: str, figures: Mapping[str, Figure]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        problems(query, figures)
