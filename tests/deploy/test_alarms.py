"""Every possible alarm has its section in the guide and its rule, and both name only what exists."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from httpx import Response

from aex_runtime.service import assemble
from aex_runtime.settings import RuntimeSettings
from tests.deploy.alarm_guide import (
    ALARMS,
    GUIDE,
    LOUD,
    Section,
    find_disagreements,
    heading_anchors,
    list_log_calls,
    parse_rows,
    parse_sections,
)
from tests.deploy.documents import SOURCES
from tests.parts.promql import Metric

SECTIONS, ROWS = parse_sections(GUIDE), parse_rows(GUIDE)
NAMES = [name for section in SECTIONS for name in section.names]
ELEMENTS = ("**Means**", "**Likely**", "**Look**", "**Do**", "**Never**", "**Over**")
EVENTS = {call.event for call in list_log_calls() if call.event}
PARTS = {"store", "bus", "blobs"}


def test_every_metric_has_a_section_and_every_section_exists_in_the_code(metrics: Mapping[str, Metric]) -> None:
    assert set(metrics) - set(NAMES) == set()
    parts = {f"readyz: {part}" for part in (*PARTS, "sandbox")}
    assert set(NAMES) - set(metrics) - EVENTS - parts == {"healthz"}


def test_every_part_of_readiness_has_a_section(responses: list[dict[str, Response]], tmp_path: Path) -> None:
    parts = set(assemble("settlement", RuntimeSettings(data_dir=tmp_path / ".aex")).probes())
    for response in (each["/readyz"] for each in responses):
        assert response.status_code == 200, response.text
        parts |= set(response.json().get("missing", {}))
    assert parts == {*PARTS, "sandbox"}
    assert {f"readyz: {part}" for part in parts} - set(NAMES) == set()


def test_every_loud_log_event_is_a_literal_with_a_section() -> None:
    assert [call.location for call in list_log_calls() if call.level in LOUD and call.event is None] == []
    loud = {call.event for call in list_log_calls() if call.level in LOUD or call.is_alarm}
    assert len(loud) > 10
    assert loud - set(NAMES) == set()


def test_critical_log_lines_and_no_others_are_alarms() -> None:
    assert [call.location for call in list_log_calls() if call.is_alarm != (call.level == "critical")] == []


@pytest.mark.parametrize("section", SECTIONS, ids=[section.names[0] for section in SECTIONS])
def test_section_has_all_its_elements_in_order(section: Section) -> None:
    assert [each for each in ELEMENTS if section.text.count(each) != 1] == []
    assert sorted(ELEMENTS, key=section.text.index) == list(ELEMENTS)


def test_table_names_each_section_once_and_links_to_it() -> None:
    assert [names for names, _ in ROWS] == [section.names for section in SECTIONS]
    assert sorted(NAMES) == sorted(set(NAMES))
    assert set(re.findall(r"\]\(#([^)]+)\)", GUIDE)) <= set(heading_anchors(GUIDE))


def test_every_name_in_the_guide_exists_in_the_code() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    mentioned = {name for section in SECTIONS for name in re.findall(r"`([a-z]+(?:_[a-z]+)+)`", section.text)}
    settings = {name.lower() for name in re.findall(r"AEX_([A-Z_]+)", GUIDE)}
    assert len(mentioned) > 30
    unknown = {name for name in mentioned | settings if name not in code}
    assert unknown - {name for name in NAMES if name.startswith("aex_")} == set()


def test_guide_rules_and_code_agree(metrics: Mapping[str, Metric]) -> None:
    assert len(ROWS) > 20
    assert find_disagreements(ALARMS, ROWS, metrics, EVENTS, PARTS) == []


@pytest.mark.parametrize("name", [name for names, _ in ROWS for name in names])
def test_alarm_missing_from_guide_or_rules_is_reported(metrics: Mapping[str, Metric], name: str) -> None:
    fewer_rules = [rule for rule in ALARMS if name not in rule["names"]]
    assert find_disagreements(fewer_rules, ROWS, metrics, EVENTS, PARTS) != []
    fewer_rows = [row for row in ROWS if name not in row[0]]
    assert find_disagreements(ALARMS, fewer_rows, metrics, EVENTS, PARTS) != []


def test_rule_that_is_left_out_has_a_reason_and_no_policy() -> None:
    left_out = [rule for rule in ALARMS if "left_out" in rule]
    assert ["aex_data_dir_free_bytes"] in [rule["names"] for rule in left_out]
    assert all(rule["left_out"] and set(rule) == {"names", "urgency", "left_out"} for rule in left_out)
