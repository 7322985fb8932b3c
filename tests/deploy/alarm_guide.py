"""The guide to alarms, the rules in `deploy/alarms.json`, and the log calls in the code.

A rule has `names` and `urgency` as in the guide's table. It fires by `figures` (PromQL and a duration), `any_of` (one
log line), `lines` (several) or `probe` (a path that fails). `shown` is displayed only; `left_out` gives a reason.
"""

import ast
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.deploy.documents import ROOT, SOURCES

Rule = Mapping[str, Any]
ALARMS: list[Rule] = json.loads((ROOT / "deploy" / "alarms.json").read_text(encoding="utf-8"))
GUIDE = (ROOT / "deploy" / "alarms.md").read_text(encoding="utf-8")
LOUD = ("error", "critical", "exception")
_LEVELS = ("debug", "info", "warning", *LOUD)
_LOGGER = re.compile(r"^ *(\w+) = (?:structlog\.get_logger|\w*log\.bind)\(", re.MULTILINE)
_HEADING = re.compile(r"^### (.+)$", re.MULTILINE)
_NAME = re.compile(r"`([^`]+)`")
_URGENCY = re.compile(r"\| *(now|today|look)\b[^|]*\|$")


@dataclass(frozen=True, slots=True)
class LogCall:
    """A call of a logger; `event` is None where the name is not a literal."""

    location: str
    level: str
    event: str | None
    is_alarm: bool


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the guide: the alarms in its heading, and its text."""

    names: tuple[str, ...]
    text: str


def find_log_calls(code: str, path: str, loggers: Collection[str]) -> Iterator[LogCall]:
    """Yield a module's calls of methods named after a level, on names of loggers."""
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=level), args=args, keywords=keywords):
                if name in loggers and level in _LEVELS:
                    first = args[0].value if args and isinstance(args[0], ast.Constant) else None
                    event = first if isinstance(first, str) else None
                    yield LogCall(f"{path}:{node.lineno}", level, event, any(each.arg == "alarm" for each in keywords))


@cache
def list_log_calls() -> tuple[LogCall, ...]:
    """Return the log calls of every package."""
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in SOURCES}
    loggers = {name for text in texts.values() for name in _LOGGER.findall(text)}
    return tuple(call for path, text in texts.items() for call in find_log_calls(text, path, loggers))


def parse_sections(guide: str) -> list[Section]:
    """Return the sections by the headings of the third level."""
    pieces = _HEADING.split(guide)[1:]
    return [
        Section(tuple(_NAME.findall(heading)), text.split("\n## ")[0])
        for heading, text in zip(pieces[::2], pieces[1::2], strict=True)
    ]


def parse_rows(guide: str) -> list[tuple[tuple[str, ...], str]]:
    """Return the alarms and the urgency of each row of the guide's table."""
    rows = [line for line in guide[: guide.index("\n### ")].splitlines() if line.startswith("| [")]
    return [(tuple(_NAME.findall(row.split("](")[0])), "".join(_URGENCY.findall(row))) for row in rows]


def heading_anchors(guide: str) -> list[str]:
    """Return the headings as a host of Markdown names them in links."""
    return [re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in _HEADING.findall(guide)]


def rule_metrics(rule: Rule) -> set[str]:
    """Return the metrics in a rule's queries, by the names in `# TYPE` lines."""
    named = {name for figure in rule.get("figures", []) for name in re.findall(r"\baex_\w+", figure["query"])}
    return {re.sub(r"_(bucket|count|sum)$", "", name) for name in named}


def rule_events(rule: Rule) -> set[str]:
    """Return the log events by which a rule fires."""
    return {*rule.get("any_of", []), *(rule["lines"]["event"].split("|") if "lines" in rule else [])}


def find_disagreements(
    rules: Sequence[Rule],
    rows: Sequence[tuple[tuple[str, ...], str]],
    metrics: Collection[str],
    events: Collection[str],
    parts: Collection[str],
) -> list[str]:
    """Compare rules with the guide's rows and with the code's metrics, log events and readiness parts."""
    listed = [(tuple(rule["names"]), rule["urgency"]) for rule in rules]
    return [
        *(f"{row}: in the guide, not in alarms.json" for row in rows if row not in listed),
        *(f"{row}: in alarms.json, not in the guide" for row in listed if row not in rows),
        *(problem for rule in rules for problem in _check_rule(rule, metrics, events, parts)),
    ]


def _check_rule(rule: Rule, metrics: Collection[str], events: Collection[str], parts: Collection[str]) -> Iterator[str]:
    queried, logged, displayed = rule_metrics(rule), rule_events(rule), rule.get("shown", [])
    named = {name for name in rule["names"] if name.startswith("aex_")}
    yield from (f"{name}: no metric of ours" for name in sorted((queried | named) - set(metrics)))
    yield from (f"{name}: no log event of ours" for name in sorted(logged - set(events)))
    part = rule.get("lines", {}).get("part")
    if part is not None and part not in parts:
        yield f"{part}: not a part of readiness"
    policies = queried | logged | {f"readyz: {part}", rule.get("probe", "").strip("/"), *displayed}
    for name in rule["names"] if "left_out" not in rule else []:
        if name not in policies and not _has_query_by_part(name, rule):
            yield f"{name}: has no policy"
    yield from (f"{name}: is shown, and fires" for name in displayed if name in queried)
    yield from (f"{name}: is shown, and not among the names" for name in displayed if name not in rule["names"])


def _has_query_by_part(name: str, rule: Rule) -> bool:
    part = name.removeprefix("readyz: ")
    return part != name and any(part in figure["query"] for figure in rule.get("figures", []))
