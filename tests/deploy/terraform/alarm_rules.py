"""What rings on Google Cloud (`deploy/alarms.json`), held against the guide and the code. Pure."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from tests.deploy.terraform.configuration import ROOT

RULES = ROOT / "deploy" / "alarms.json"
_METRIC = re.compile(r"\baex_\w+")
_URGENCY = re.compile(r"\| *(now|today|look)\b[^|]*\|$")
_SERIES = ("_bucket", "_count", "_sum")

Rule = Mapping[str, Any]
"""`names` and `urgency` as in the guide's table; what rings: `figures` (PromQL, and for how long), `any_of` (one line
of the log), `lines` (several), `probe` (a path that does not answer), and what is looked at then but rings nothing
(`shown`); or `left_out`, with the reason."""


def rules() -> list[Rule]:
    """The committed ones."""
    found: list[Rule] = json.loads(RULES.read_text(encoding="utf-8"))
    return found


def urgencies(guide: str) -> list[str]:
    """How soon, for each row of the guide's table: its first word."""
    rows = [line for line in guide[: guide.index("\n### ")].splitlines() if line.startswith("| [")]
    return [found.group(1) for row in rows if (found := _URGENCY.search(row))]


def metrics_in(query: str) -> set[str]:
    """The metrics that a query names, as /metrics has them in its `# TYPE` lines."""
    found = set(_METRIC.findall(query))
    return {next((name.removesuffix(end) for end in _SERIES if name.endswith(end)), name) for name in found}


def events_of(rule: Rule) -> set[str]:
    """The log lines that ring a rule."""
    several = rule["lines"]["event"].split("|") if "lines" in rule else []
    return {*rule.get("any_of", []), *several}


def disagreements(
    found: Sequence[Rule],
    rows: Sequence[tuple[Sequence[str], str]],
    metrics: Collection[str],
    events: Collection[str],
    parts: Collection[str],
) -> list[str]:
    """Where rules, the guide's table (names and urgency of each row) and the code disagree: what is to be mended."""
    listed = [(tuple(rule["names"]), rule["urgency"]) for rule in found]
    told = [(tuple(names), urgency) for names, urgency in rows]
    return [
        *(f"{row}: in the guide, not in alarms.json" for row in told if row not in listed),
        *(f"{row}: in alarms.json, not in the guide" for row in listed if row not in told),
        *(problem for rule in found for problem in _of_rule(rule, metrics, events, parts)),
    ]


def _of_rule(rule: Rule, metrics: Collection[str], events: Collection[str], parts: Collection[str]) -> Iterator[str]:
    named = {name for figure in rule.get("figures", []) for name in metrics_in(figure["query"])}
    heard = events_of(rule)
    yield from (f"{name}: no metric of ours" for name in sorted((named | {*_metrics(rule)}) - set(metrics)))
    yield from (f"{name}: no log line of ours" for name in sorted(heard - set(events)))
    part = rule.get("lines", {}).get("part")
    if part is not None and part not in parts:
        yield f"{part}: readiness names no such part"
    rings = named | heard | {f"readyz: {part}", rule.get("probe", "").strip("/"), *rule.get("shown", [])}
    if "left_out" not in rule:
        yield from (
            f"{name}: has no policy" for name in rule["names"] if name not in rings and not _covered(name, rule)
        )
    yield from (f"{name}: is shown, and rings" for name in rule.get("shown", []) if name in named)
    yield from (f"{name}: is shown, and no name of it" for name in rule.get("shown", []) if name not in rule["names"])


def _metrics(rule: Rule) -> list[str]:
    """Those of its names that are metrics, whether they ring or not."""
    return [name for name in rule["names"] if name.startswith("aex_")]


def _covered(name: str, rule: Rule) -> bool:
    """A part that has a figure of its own rings by that."""
    part = name.removeprefix("readyz: ")
    return part != name and any(part in figure["query"] for figure in rule.get("figures", []))
