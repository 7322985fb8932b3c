"""Generator of `dashboards/overview.json` from its panels: `python -m deploy.write_dashboards`.

The format is Google Cloud Monitoring's; the data come by PromQL from Managed Prometheus.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from deploy.overview_panels import SECTIONS, Card, Chart

FILE = Path(__file__).parent / "dashboards" / "overview.json"
COLUMNS = 48
_CARDS, _CHARTS = 6, 3
"""Panels per row."""
_CARD_HEIGHT, _CHART_HEIGHT, _HEADER_HEIGHT, _LOG_HEIGHT = 8, 16, 4, 20
ALARM_LINES = 'resource.type="cloud_run_revision" AND jsonPayload.alarm=true'


def build_dashboard() -> dict[str, Any]:
    """Return the dashboard in the format of Google's API."""
    tiles, y = [], 0
    for section in SECTIONS:
        header = {"title": section.title, "sectionHeader": {"subtitle": section.subtitle, "dividerBelow": True}}
        tiles.append(_tile(0, y, COLUMNS, _HEADER_HEIGHT, header))
        y += _HEADER_HEIGHT
        panels = list(_lay_out(section.panels, y))
        tiles += panels
        y = max(each["yPos"] + each["height"] for each in panels)
    logs = {"title": "Alarms in the log", "logsPanel": {"filter": ALARM_LINES}}
    tiles.append(_tile(0, y, COLUMNS, _LOG_HEIGHT, logs))
    return {"displayName": "AEX Outcomes", "mosaicLayout": {"columns": COLUMNS, "tiles": tiles}}


def build_file_text() -> str:
    """Return the text of `dashboards/overview.json`."""
    return json.dumps(build_dashboard(), indent=2) + "\n"


def _lay_out(panels: Sequence[Card | Chart], y: int) -> Iterator[dict[str, Any]]:
    """Yield the panels of a section row by row; a section has one kind of panel."""
    for index, panel in enumerate(panels):
        columns, height = (_CARDS, _CARD_HEIGHT) if isinstance(panel, Card) else (_CHARTS, _CHART_HEIGHT)
        width, row = COLUMNS // columns, index // columns
        widget = _card(panel) if isinstance(panel, Card) else _chart(panel)
        yield _tile(index % columns * width, y + row * height, width, height, widget)


def _tile(x: int, y: int, width: int, height: int, widget: dict[str, Any]) -> dict[str, Any]:
    return {"xPos": x, "yPos": y, "width": width, "height": height, "widget": widget}


def _card(card: Card) -> dict[str, Any]:
    scorecard = {
        "timeSeriesQuery": {"prometheusQuery": card.query, "unitOverride": card.unit},
        "sparkChartView": {"sparkChartType": "SPARK_LINE"},
        "thresholds": [{"value": card.red, "color": "RED", "direction": "ABOVE"}],
    }
    return {"title": card.title, "scorecard": scorecard}


def _chart(chart: Chart) -> dict[str, Any]:
    sets = [
        {
            "timeSeriesQuery": {"prometheusQuery": query, "unitOverride": chart.unit},
            "plotType": "LINE",
            "targetAxis": "Y1",
            **({"legendTemplate": legend} if legend else {}),
        }
        for query, legend in chart.lines.items()
    ]
    thresholds = [] if chart.limit is None else [{"value": chart.limit, "targetAxis": "Y1"}]
    axes = {"yAxis": {"scale": "LINEAR"}, "chartOptions": {"mode": "COLOR"}}
    return {"title": chart.title, "xyChart": {"dataSets": sets, "thresholds": thresholds, **axes}}


if __name__ == "__main__":
    FILE.write_text(build_file_text())
