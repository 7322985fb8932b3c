"""Each alarm of the guide rings on Google Cloud, by what is really measured and logged."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.deploy.alarms import GUIDE, all_log_calls, anchors, table_rows
from tests.deploy.promql import Figure, asked_in, figures_in, problems
from tests.deploy.scrapes import four_services, scraped
from tests.deploy.terraform.alarm_rules import Rule, disagreements, events_of, metrics_in, rules, urgencies
from tests.deploy.terraform.configuration import Configuration

TEXT = GUIDE.read_text(encoding="utf-8")
ROWS = list(zip(table_rows(TEXT), urgencies(TEXT), strict=True))
EVENTS = {call.event for call in all_log_calls() if call.event}
PARTS = {"store", "bus", "blobs"}


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Figure]:
    """The metrics of the four services, as they are scraped."""
    return figures_in(*asyncio.run(scraped(four_services(tmp_path_factory.mktemp("alarms") / ".aex"))))


@pytest.fixture(scope="module")
def metrics(figures: Mapping[str, Figure]) -> set[str]:
    return set(figures)


def test_guide_rules_and_code_agree(metrics: set[str]) -> None:
    assert len(ROWS) > 20
    assert disagreements(rules(), ROWS, metrics, EVENTS, PARTS) == []


@dataclass(frozen=True)
class Told:
    """What is held against each other."""

    rules: list[Rule]
    rows: list[tuple[tuple[str, ...], str]]
    metrics: set[str]
    events: set[str]


def without_rule(told: Told, name: str) -> Told:
    return Told([rule for rule in told.rules if name not in rule["names"]], told.rows, told.metrics, told.events)


def without_row(told: Told, name: str) -> Told:
    return Told(told.rules, [row for row in told.rows if name not in row[0]], told.metrics, told.events)


def renamed_in_code(told: Told, name: str) -> Told:
    changed = {f"{each}_x" if each == name else each for each in told.metrics}
    return Told(told.rules, told.rows, changed, {f"{each}_x" if each == name else each for each in told.events})


@pytest.mark.parametrize("change", [without_rule, without_row])
@pytest.mark.parametrize("name", [name for names, _ in ROWS for name in names])
def test_an_alarm_that_one_of_them_lacks_would_be_found(
    metrics: set[str], name: str, change: Callable[[Told, str], Told]
) -> None:
    told = change(Told(rules(), ROWS, metrics, EVENTS), name)
    assert disagreements(told.rules, told.rows, told.metrics, told.events, PARTS) != []


@pytest.mark.parametrize(
    "name",
    sorted(
        {name for rule in rules() for figure in rule.get("figures", []) for name in metrics_in(figure["query"])}
        | {name for rule in rules() for name in events_of(rule)}
    ),
)
def test_a_metric_or_a_line_that_the_code_calls_otherwise_would_be_found(metrics: set[str], name: str) -> None:
    told = renamed_in_code(Told(rules(), ROWS, metrics, EVENTS), name)
    assert disagreements(told.rules, told.rows, told.metrics, told.events, PARTS) != []


def test_what_is_left_out_has_a_reason_and_rings_by_nothing_else() -> None:
    left_out = [rule for rule in rules() if "left_out" in rule]
    assert ["aex_data_dir_free_bytes"] in [rule["names"] for rule in left_out]
    assert all(rule["left_out"] and set(rule) == {"names", "urgency", "left_out"} for rule in left_out)


def test_every_rule_becomes_policies_of_its_own(evaluated: Mapping[str, Any]) -> None:
    kinds = ("figure_alarms", "line_alarms", "repeated_line_alarms", "probe_alarms")
    made = [tuple(each["names"]) for kind in kinds for each in evaluated[kind].values()]
    assert set(made) == {tuple(rule["names"]) for rule in rules() if "left_out" not in rule}
    wanted = sum(
        len(rule.get("figures", [])) + sum(kind in rule for kind in ("any_of", "lines", "probe")) for rule in rules()
    )
    assert len(made) == wanted


def test_every_policy_leads_to_its_section_of_the_guide(evaluated: Mapping[str, Any]) -> None:
    assert set(evaluated["anchors"].values()) == set(anchors(TEXT)["headings"])


def test_every_urgency_has_its_severity(evaluated: Mapping[str, Any]) -> None:
    assert {rule["urgency"] for rule in rules()} == set(evaluated["severities"])


def test_queries_ask_for_series_and_labels_that_there_are(figures: Mapping[str, Figure]) -> None:
    queries = [figure["query"] for rule in rules() for figure in rule.get("figures", [])]
    assert len(queries) > 15
    assert [problem for query in queries for problem in problems(query, figures)] == []


def test_several_lines_are_counted_by_what_the_metric_of_lines_has(
    evaluated: Mapping[str, Any], configuration: Configuration
) -> None:
    (metric,) = [block for block in configuration.of("resource") if block.labels[0] == "google_logging_metric"]
    labels = {label["key"].strip('"') for label in metric.body["metric_descriptor"][0]["labels"]}
    assert labels == set(metric.body["label_extractors"]) - {"__is_block__"}
    for each in evaluated["repeated_line_alarms"].values():
        (asked,) = asked_in(each["query"])
        assert asked.name == "logging_googleapis_com:user_aex_lines"
        assert {*(asked.grouped_by or ()), *(each.name for each in asked.matchers)} <= {*labels, "monitored_resource"}
