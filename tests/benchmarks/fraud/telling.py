"""A report in print: for people on a terminal, for people in a pipe, for programs."""

import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from rich.box import HEAVY_HEAD
from rich.console import Console
from rich.table import Table

from tests.benchmarks.fraud.judging import Judged
from tests.benchmarks.fraud.report import DETECTION_BAR, FALSE_ALARM_BAR, Rate, Report

SHOWN = 12
"""Examples that are listed of one rule or one kind; all of them are in the JSON."""


def tell(report: Report, console: Console) -> None:
    """Tables of rates, then the examples that went wrong, then whether the bars are reached."""
    console.print(_seeds(report))
    console.print(_rules(report, console))
    console.print(_kinds(report, console))
    _examples(console, "Missed", report.missed)
    _examples(console, "False alarms", report.false_alarms)
    flagged, stopped = report.alarms()
    console.print(f"Honest work: {_told(flagged)} flagged at all, {_told(stopped)} held or rejected.")
    for line in report.below():
        console.print(f"[red]below the bar[/red] {line}" if console.is_terminal else f"below the bar: {line}")
    if not report.below():
        console.print(f"All bars are reached: {DETECTION_BAR:.0%} found, at most {FALSE_ALARM_BAR:.0%} false alarms.")


def as_json(report: Report) -> str:
    """The same for programs."""
    flagged, stopped = report.alarms()
    return json.dumps(
        {
            "seeds": report.seeds,
            "tuned_on": report.tuned_on,
            "rules": {
                rule: {"detection": _figures(rate), "false_alarms": _figures(report.alarms_by_rule()[rule])}
                for rule, rate in report.detection().items()
            },
            "honest": {
                kind: {"flagged": _figures(some), "stopped": _figures(held)}
                for kind, (some, held) in report.alarms_by_kind().items()
            },
            "overall": {"flagged": _figures(flagged), "stopped": _figures(stopped)},
            "missed": [_example(each) for each in report.missed],
            "false_alarms": [_example(each) for each in report.false_alarms],
            "below_the_bar": report.below(),
        },
        indent=2,
        ensure_ascii=False,
    )


def _seeds(report: Report) -> str:
    seeds = ", ".join(map(str, report.seeds))
    if not report.tuned_on:
        return f"Seeds {seeds}: none of them was used while tuning."
    return f"Seeds {seeds}: of these {', '.join(map(str, report.tuned_on))} may have been used while tuning."


def _table(title: str, console: Console) -> Table:
    """With lines on a terminal, plain elsewhere."""
    return Table(title=title, title_justify="left", box=HEAVY_HEAD if console.is_terminal else None)


def _rules(report: Report, console: Console) -> Table:
    table = _table("Fraud, by rule", console)
    for name in ("rule", "found", "of", "rate", "95 % interval", "raised on honest work", "bar"):
        table.add_column(name, justify="left" if name == "rule" else "right", no_wrap=True)
    alarms = report.alarms_by_rule()
    for rule, rate in report.detection().items():
        met = rate.share is not None and rate.share >= DETECTION_BAR
        table.add_row(rule, *_cells(rate), f"{alarms[rule].count}", "met" if met else "NOT MET")
    return table


def _kinds(report: Report, console: Console) -> Table:
    table = _table("Honest work, by kind", console)
    for name in ("kind", "flagged", "of", "rate", "95 % interval", "held or rejected"):
        table.add_column(name, justify="left" if name == "kind" else "right", no_wrap=True)
    for kind, (flagged, stopped) in sorted(report.alarms_by_kind().items()):
        table.add_row(kind, *_cells(flagged), f"{stopped.count}")
    table.add_section()
    flagged, stopped = report.alarms()
    table.add_row("all", *_cells(flagged), f"{stopped.count}")
    return table


def _cells(rate: Rate) -> tuple[str, str, str, str]:
    low, high = rate.interval
    share = "unknown" if rate.share is None else f"{rate.share:.2%}"
    return f"{rate.count}", f"{rate.total}", share, f"{low:.1%} to {high:.1%}"


def _told(rate: Rate) -> str:
    count, total, share, interval = _cells(rate)
    return f"{count} of {total} ({share}, {interval})"


def _examples(console: Console, title: str, examples: Sequence[Judged]) -> None:
    """One line each, with a key to be copied behind `--example`; those of one rule or kind together."""
    if not examples:
        return
    console.print(f"{title}: {len(examples)}")
    for subject, some in groupby(sorted(examples, key=_place), key=lambda each: each.label.subject):
        found = list(some)
        for each in found[:SHOWN]:
            raised = ", ".join(f"{flag.rule} {flag.severity}" for flag in each.decision.flags) or "nothing"
            due = f", {each.label.severity} was due" if each.label.severity else ""
            told = f"  {each.key}  {each.label.variant}: {raised} raised{due}"
            console.print(told, markup=False, highlight=False, soft_wrap=True)
        if len(found) > SHOWN:
            console.print(f"  and {len(found) - SHOWN} more of {subject}", markup=False, highlight=False)


def _place(each: Judged) -> tuple[str, str, str]:
    return each.label.subject, each.label.variant, each.key


def _figures(rate: Rate) -> dict[str, Any]:
    return {"count": rate.count, "total": rate.total, "rate": rate.share, "interval": rate.interval}


def _example(each: Judged) -> dict[str, Any]:
    flags = [flag.model_dump(mode="json") for flag in each.decision.flags]
    due = each.label.severity
    return {"key": each.key, "subject": each.label.subject, "variant": each.label.variant, "due": due, "flags": flags}
