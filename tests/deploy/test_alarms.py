"""Whatever can wake a person has its place in the guide, and the guide speaks of nothing that is not there."""

import re
from collections.abc import AsyncIterator
from importlib import import_module
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from aex_cli.suite.service_spec import MODULES
from aex_runtime.service import assemble
from aex_runtime.settings import RuntimeSettings
from tests.deploy.alarms import (
    GUIDE,
    LOGGERS,
    LOUD,
    SOURCES,
    Section,
    all_log_calls,
    anchors,
    log_calls,
    sections,
    table_rows,
)

TEXT = GUIDE.read_text(encoding="utf-8")
SECTIONS = sections(TEXT)
TOLD = {name for section in SECTIONS for name in section.names}
PARTS = ("**Means**", "**Likely**", "**Look**", "**Do**", "**Never**", "**Over**")


@pytest.fixture(scope="module")
def apps(tmp_path_factory: pytest.TempPathFactory) -> list[FastAPI]:
    folder = tmp_path_factory.mktemp("alarms") / ".aex"
    settings = [import_module(f"{module}.settings").Settings(data_dir=folder) for module in MODULES.values()]
    return [
        import_module(f"{module}.main").create_app(own) for module, own in zip(MODULES.values(), settings, strict=True)
    ]


async def answers(apps: list[FastAPI], path: str) -> AsyncIterator[httpx.Response]:
    for app in apps:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service") as client:
            yield await client.get(path)


async def metrics_of(apps: list[FastAPI]) -> set[str]:
    texts = [answer.text async for answer in answers(apps, "/metrics")]
    return {name for text in texts for name in re.findall(r"^# TYPE (aex_\w+)", text, re.MULTILINE)}


async def test_every_metric_has_its_section(apps: list[FastAPI]) -> None:
    shown = await metrics_of(apps)
    assert len(shown) > 10
    assert {name for name in shown if not name.endswith("_created")} - TOLD == set()


async def test_every_part_that_readiness_names_has_its_section(apps: list[FastAPI], tmp_path: Path) -> None:
    parts = set(assemble("settlement", RuntimeSettings(data_dir=tmp_path / ".aex")).probes())
    async for answer in answers(apps, "/readyz"):
        assert answer.status_code == 200, answer.text
        parts |= set(answer.json().get("missing", {}))
    assert parts == {"store", "bus", "blobs", "sandbox"}
    assert {f"readyz: {part}" for part in parts} - TOLD == set()


def test_every_loud_log_line_has_its_section() -> None:
    loud = {call.event for call in all_log_calls() if call.level in LOUD or call.alarm}
    assert len(loud) > 10
    assert loud - TOLD == set()


def test_loud_log_lines_have_their_names_written_out() -> None:
    assert [call.place for call in all_log_calls() if call.level in LOUD and call.event is None] == []


def test_what_is_critical_is_an_alarm_and_nothing_else_is() -> None:
    assert [call.place for call in all_log_calls() if call.alarm != (call.level == "critical")] == []


def test_loggers_have_names_by_which_their_lines_are_found() -> None:
    made = re.compile(r"^ *(\w+) = (?:structlog\.get_logger|\w*log\.bind)\(", re.MULTILINE)
    assert {name for path in SOURCES for name in made.findall(path.read_text(encoding="utf-8"))} == LOGGERS


async def test_every_section_is_about_something_that_is_there(apps: list[FastAPI]) -> None:
    logged = {call.event for call in all_log_calls()}
    known = await metrics_of(apps) | logged | {"healthz"}
    assert {name for name in TOLD if not name.startswith("readyz: ")} - known == set()
    assert {name for name in TOLD if name.startswith("readyz: ")} <= {
        f"readyz: {part}" for part in ("store", "bus", "blobs", "sandbox")
    }


def test_no_alarm_has_two_sections() -> None:
    names = [name for section in SECTIONS for name in section.names]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("section", SECTIONS, ids=[section.names[0] for section in SECTIONS])
def test_a_section_says_what_it_means_what_to_look_at_what_to_do_and_when_it_is_over(section: Section) -> None:
    assert [part for part in PARTS if section.text.count(part) != 1] == []
    assert sorted(PARTS, key=section.text.index) == list(PARTS)


def test_the_table_on_top_names_each_section_and_leads_to_it() -> None:
    assert table_rows(TEXT) == [section.names for section in SECTIONS]
    found = anchors(TEXT)
    assert set(found["links"]) <= set(found["headings"])


def test_every_name_that_the_guide_mentions_is_somewhere_in_the_code() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    mentioned = {name for section in SECTIONS for name in re.findall(r"`([a-z]+(?:_[a-z]+)+)`", section.text)}
    settings = {name.lower() for name in re.findall(r"AEX_([A-Z_]+)", TEXT)}
    assert len(mentioned) > 30
    unknown = {name for name in mentioned | settings if name not in code}
    assert unknown - {name for name in TOLD if name.startswith("aex_")} == set()


@pytest.mark.parametrize(
    ("line", "level", "event", "alarm"),
    [
        ('_log.critical("fire", alarm=True, place=1)', "critical", "fire", True),
        ('log.error("smoke")', "error", "smoke", False),
        ("told.error(what)", "error", None, False),
    ],
)
def test_a_line_that_nobody_wrote_down_would_be_found(line: str, level: str, event: str | None, alarm: bool) -> None:
    (call,) = log_calls(line)
    assert (call.level, call.event, call.alarm) == (level, event, alarm)
    assert call.event not in TOLD
