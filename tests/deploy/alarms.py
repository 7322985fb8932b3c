"""What can ring: metrics, parts that readiness names and log lines, as the code has them; and what the guide says."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "deploy" / "alarms.md"
SOURCES = sorted(path for pattern in ("libs/*/src", "services/*/src") for path in ROOT.glob(f"{pattern}/**/*.py"))
LEVELS = ("debug", "info", "warning", "error", "critical", "exception")
LOGGERS = {"log", "_log", "told"}
LOUD = ("error", "critical", "exception")
_HEADING = re.compile(r"^### (.+)$", re.MULTILINE)
_NAME = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True)
class LogCall:
    """One call of a logger. `event`: None where the name is not written out there."""

    place: str
    level: str
    event: str | None
    alarm: bool


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the guide: the alarms in its heading, and its text."""

    names: tuple[str, ...]
    text: str


def log_calls(code: str, place: str = "") -> Iterator[LogCall]:
    """The calls of loggers in a module: methods named after a level, on anything that is called a log."""
    for node in ast.walk(ast.parse(code)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LEVELS):
            continue
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id in LOGGERS):
            continue
        first = node.args[0] if node.args else None
        event = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None
        alarm = any(each.arg == "alarm" for each in node.keywords)
        yield LogCall(f"{place}:{node.lineno}", node.func.attr, event, alarm)


@cache
def all_log_calls() -> tuple[LogCall, ...]:
    """Those of every module of the packages."""
    return tuple(
        call for path in SOURCES for call in log_calls(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT)))
    )


def sections(guide: str) -> list[Section]:
    """The guide's sections, by the headings of the third level."""
    pieces = _HEADING.split(guide)[1:]
    return [
        Section(tuple(_NAME.findall(heading)), text.split("\n## ")[0])
        for heading, text in zip(pieces[::2], pieces[1::2], strict=True)
    ]


def table_rows(guide: str) -> list[tuple[str, ...]]:
    """The alarms of each row of the table on top."""
    rows = [line for line in guide[: guide.index("\n### ")].splitlines() if line.startswith("| [")]
    return [tuple(_NAME.findall(row.split("](")[0])) for row in rows]


def anchors(guide: str) -> Mapping[str, Sequence[str]]:
    """Where links within the guide lead, and the headings as a host of Markdown names them."""
    headings = [re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in _HEADING.findall(guide)]
    return {"links": re.findall(r"\]\(#([^)]+)\)", guide), "headings": headings}
