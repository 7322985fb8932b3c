"""Report on a batch of verdicts: figures for the terminal, and files of JSON or self-contained HTML."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from aex_cli.offline.named_verifier import to_printable_line
from aex_cli.offline.outputs import OfflineOutcome
from aex_cli.offline.verdict_report import explain_unmet_criteria
from aex_models.batch import BatchSummary, Proportion
from aex_models.criteria import SuccessCriteria
from aex_models.results import Verdict
from aex_outcomes.batch_tally import BatchTally
from aex_outcomes.catalog import Catalog
from aex_outcomes.formatting import format_requirement

CRITERION_COLUMNS = ("metric", "needs", "met", "of", "rate", "95 % interval", "indeterminate")
CRITERION_NUMBERS = ("met", "of", "rate", "95 % interval", "indeterminate")
OUTPUT_COLUMNS = ("line", "id", "verdict", "score", "reason")
MAX_LISTED = 1_000
"""Outputs that did not pass and are listed in a report; the figures count all."""
INVALID = "invalid"
"""Name in reports of a line that is no valid output."""
_NOTHING = "–"
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #1a1a1a; }
table { border-collapse: collapse; margin: 1rem 0; width: 100%; }
th, td { border-bottom: 1px solid #ddd; padding: .35rem .6rem; text-align: left; vertical-align: top; }
td { overflow-wrap: anywhere; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
@media (prefers-color-scheme: dark) { body { background: #151515; color: #e8e8e8; } th, td { border-color: #444; } }
"""


@dataclass(slots=True)
class BatchFindings:
    """The counts of a batch so far, and the first outputs that did not pass."""

    criteria: SuccessCriteria
    catalog: Catalog
    tally: BatchTally = field(default_factory=BatchTally)
    not_passed: list[dict[str, Any]] = field(default_factory=list)
    """The first `MAX_LISTED` outputs that did not pass, as JSON values."""

    def add(self, outcome: OfflineOutcome) -> None:
        """Count an outcome, and list it if it did not pass."""
        result, problem = outcome.result, outcome.problem
        if result is not None:
            self.tally.count_result(result)
        elif problem is not None:
            self.tally.count_problem(by_platform=problem.by_platform)
        if len(self.not_passed) < MAX_LISTED and (result is None or result.verdict is not Verdict.PASSED):
            self.not_passed.append(self._describe(outcome))

    def _describe(self, outcome: OfflineOutcome) -> dict[str, Any]:
        listed: dict[str, Any] = {"line": outcome.index + 1, "id": outcome.id, "verdict": None, "weighted_score": None}
        if outcome.result is not None:
            reasons = explain_unmet_criteria(outcome.result, self.catalog)
            known = {"verdict": outcome.result.verdict.value, "weighted_score": outcome.result.weighted_score}
            return {**listed, **known, "reasons": reasons}
        problem = outcome.problem
        if problem is None:
            return {**listed, "reasons": []}
        listed["verdict"] = Verdict.INDETERMINATE.value if problem.by_platform else INVALID
        errors = [f"{each.path or '/'}: {each.message}" for each in problem.errors]
        return {**listed, "reasons": [f"{problem.code}: {reason}" for reason in errors or [problem.message]]}


def compute_exit_code(summary: BatchSummary) -> int:
    """Return the exit code of the worst line: 2 invalid, 3 indeterminate, 1 rejected, 0 passed."""
    if summary.problems:
        return 2
    if summary.indeterminate:
        return 3
    return 1 if summary.rejected else 0


def describe_counts(summary: BatchSummary) -> str:
    """Return the numbers of verdicts in one phrase."""
    counts = f"{summary.passed:,} passed, {summary.rejected:,} rejected"
    return f"{summary.outputs:,}: {counts}, {summary.indeterminate:,} indeterminate, {summary.problems:,} invalid"


def describe_proportion(proportion: Proportion) -> str:
    """Return a share and its interval in one phrase."""
    if proportion.share is None:
        return "unknown: no output has a verdict"
    counted = f"{proportion.count:,} of {proportion.total:,} with a verdict"
    return f"{_percent(proportion.share)} ({counted}), 95 % interval {_interval(proportion)}"


def build_criterion_rows(summary: BatchSummary, criteria: SuccessCriteria) -> list[tuple[str, ...]]:
    """Return a row of `CRITERION_COLUMNS` for each criterion."""
    return [
        (
            each.metric,
            format_requirement(criteria.criteria[each.criterion]),
            f"{each.met.count:,}",
            f"{each.met.total:,}",
            _NOTHING if each.met.share is None else _percent(each.met.share),
            _interval(each.met),
            f"{each.indeterminate:,}",
        )
        for each in summary.criteria
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _interval(proportion: Proportion) -> str:
    if proportion.low is None or proportion.high is None:
        return _NOTHING
    return f"{100 * proportion.low:.1f} to {100 * proportion.high:.1f} %"


def render_json_report(findings: BatchFindings, summary: BatchSummary) -> str:
    """Return the report as JSON: `{summary, not_passed}`; the latter has at most `MAX_LISTED` outputs."""
    report = {"summary": summary.model_dump(mode="json"), "not_passed": findings.not_passed}
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def render_html_report(findings: BatchFindings, summary: BatchSummary) -> str:
    """Return the report as one HTML document without scripts and links, in which all texts are escaped."""
    score = _NOTHING if summary.mean_weighted_score is None else f"{summary.mean_weighted_score:.4g}"
    figures = [
        ("Outputs", describe_counts(summary)),
        ("Pass rate", describe_proportion(summary.pass_rate)),
        ("Mean weighted score", score),
    ]
    omitted = summary.outputs - summary.passed - len(findings.not_passed)
    rows = [
        (str(each["line"]), _cell(each["id"]), each["verdict"], _cell(each["weighted_score"]), reason)
        for each in findings.not_passed
        for reason in ["; ".join(map(to_printable_line, each["reasons"])) or _NOTHING]
    ]
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Verdicts on {summary.outputs:,} outputs</title>\n<style>{_STYLE}</style>\n</head>\n<body>",
        f"<h1>Verdicts on {summary.outputs:,} outputs</h1>",
        _html_table(("figure", "value"), figures),
        "<h2>Criteria</h2>\n<p>Indeterminate and invalid outputs count in no rate. Intervals are Wilson's.</p>",
        _html_table(CRITERION_COLUMNS, build_criterion_rows(summary, findings.criteria), CRITERION_NUMBERS),
        "<h2>Outputs that did not pass</h2>",
        _html_table(OUTPUT_COLUMNS, rows, ("line", "score")) if rows else "<p>None.</p>",
        f"<p>{omitted:,} more are not listed.</p>" if omitted else "",
        "</body>\n</html>\n",
    ]
    return "\n".join(filter(None, parts))


def _cell(value: object) -> str:
    if value is None:
        return _NOTHING
    return f"{value:.4g}" if isinstance(value, float) else to_printable_line(str(value))


def _html_table(columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str] = ()) -> str:
    classes = [' class="number"' if column in numbers else "" for column in columns]
    head = _html_cells('th scope="col"', "th", columns, classes)
    body = "\n".join(f"<tr>{_html_cells('td', 'td', row, classes)}</tr>" for row in rows)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _html_cells(opening: str, closing: str, cells: Sequence[str], classes: Sequence[str]) -> str:
    return "".join(f"<{opening}{kind}>{escape(cell)}</{closing}>" for cell, kind in zip(cells, classes, strict=True))
