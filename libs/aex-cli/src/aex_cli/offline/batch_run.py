"""Run of `aex verify --outputs`: verdicts on all lines of a file, their report and the exit code."""

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from aex_cli.offline.batch_report import (
    CRITERION_COLUMNS,
    CRITERION_NUMBERS,
    BatchFindings,
    build_criterion_rows,
    compute_exit_code,
    describe_counts,
    describe_proportion,
    render_html_report,
    render_json_report,
)
from aex_cli.offline.documents import InputDocument
from aex_cli.offline.jobs import NoVerdict
from aex_cli.offline.named_verifier import to_printable_line
from aex_cli.offline.outputs import OfflineOutcome, read_output_lines, read_shared_input, verify_lines
from aex_cli.report import create_report, write_atomically
from aex_models.audiences import Audience, Disclosure, project
from aex_models.batch import BatchSummary
from aex_outcomes.catalog import Catalog
from aex_outcomes.confinement.settings import WorkersUnavailable
from aex_outcomes.engine.local import LocalGrader
from aex_outcomes.submission.batch import SharedBatchInput
from aex_runtime.commandline import UserError, print_error, write_line_to_stdout
from aex_runtime.logs import configure_logging

_PRINTED = 10
"""Outputs that did not pass and are printed; a report has more."""
_STEP = 500
"""Outputs between two lines of progress where there is no terminal."""
_OWN_OUTPUT = Disclosure(output=True)


class ReportFormat(StrEnum):
    """The form of a report on many outputs."""

    HTML = "html"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """The options of `aex verify` for many outputs."""

    path: str
    jobs: int | None
    progress: bool | None
    report: ReportFormat | None
    out: Path | None
    as_json: bool


def verify_outputs(
    options: BatchOptions, files: Mapping[str, InputDocument | None], latency_ms: float | None, catalog: Catalog
) -> int:
    """Verify all lines of the file, print or write the results, and return the worst line's exit code.

    Raises `UserError` for wrong files and options, `NoVerdict` if no worker can start.
    """
    if options.out is not None and options.report is None:
        raise UserError("--out needs --report", "choose --report html or --report json")
    if options.as_json and options.report is not None and options.out is None:
        raise UserError("--json and the report would both go to stdout", "name the report's file with --out")
    common = read_shared_input(files, latency_ms, catalog)
    if common.request.success_criteria is None:
        raise UserError("there are no success criteria", "name their file with --criteria")
    findings = BatchFindings(common.request.success_criteria, catalog)
    configure_logging("aex", "error", "console")
    try:
        asyncio.run(_verify(options, common, findings))
    except WorkersUnavailable as error:
        raise NoVerdict(f"no worker can be started: {error}") from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None  # 1 would mean "rejected"
    summary = findings.tally.summarize()
    if not summary.outputs:
        raise UserError(f"{options.path} holds no outputs", "write a line of JSON for each: {output, …}")
    _print_results(options, findings, summary)
    return compute_exit_code(summary)


async def _verify(options: BatchOptions, common: SharedBatchInput, findings: BatchFindings) -> None:
    jobs = options.jobs or os.cpu_count() or 1
    lines = read_output_lines(options.path)
    with _show_progress(options.progress) as advance:
        async with LocalGrader(findings.criteria, findings.catalog, jobs) as grader:
            if missing := grader.missing_confinement:
                print_error(f"note: this system confines workers without: {', '.join(missing)}")
            async with aclosing(verify_lines(lines, common, findings.catalog, grader, jobs)) as groups:
                async for group in groups:
                    for each in group:
                        findings.add(each)
                        if options.as_json:
                            write_line_to_stdout(_encode(_render(each)))
                    advance(len(group))


def _render(outcome: OfflineOutcome) -> dict[str, Any]:
    """Return an outcome as a line of `POST /v1/verify/batch` has it."""
    line: dict[str, Any] = {"index": outcome.index, "id": outcome.id}
    if outcome.result is not None:
        return {**line, "result": project(outcome.result, Audience.CONSUMER, _OWN_OUTPUT)}
    return {**line, "problem": outcome.problem.as_json() if outcome.problem else None}


def _encode(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _print_results(options: BatchOptions, findings: BatchFindings, summary: BatchSummary) -> None:
    if options.report is not None:
        render = render_html_report if options.report is ReportFormat.HTML else render_json_report
        text = render(findings, summary)
        if options.out is None:
            write_line_to_stdout(text.removesuffix("\n"))
            return
        with write_atomically(options.out) as file:
            file.write(text.encode("utf-8", "replace"))
    if options.as_json:
        write_line_to_stdout(_encode({"summary": project(summary, Audience.CONSUMER, _OWN_OUTPUT)}))
    else:
        _print_summary(options, findings, summary)


def _print_summary(options: BatchOptions, findings: BatchFindings, summary: BatchSummary) -> None:
    report = create_report(Console())
    report.print_step("outputs", describe_counts(summary))
    report.print_step("pass rate", describe_proportion(summary.pass_rate))
    if summary.criteria:
        rows = build_criterion_rows(summary, findings.criteria)
        report.print_table(CRITERION_COLUMNS, rows, CRITERION_NUMBERS, "needs")
    for each in findings.not_passed[:_PRINTED]:
        name = f"line {each['line']}" + ("" if each["id"] is None else f" ({to_printable_line(str(each['id']))})")
        report.print_step(each["verdict"], to_printable_line(f"{name}: {'; '.join(each['reasons'])}"))
    omitted = summary.outputs - summary.passed - min(len(findings.not_passed), _PRINTED)
    if omitted:
        report.print_step("more", f"{omitted:,} further outputs did not pass; --report lists them")
    if options.out is not None:
        report.print_step("report", str(options.out))


@contextmanager
def _show_progress(requested: bool | None) -> Iterator[Callable[[int], None]]:
    """Show progress on stderr and yield the function to call with each number of further outputs.

    `requested`: None shows it on a terminal alone. Elsewhere it is a line after every 500 outputs.
    """
    console = Console(stderr=True)
    if requested and not console.is_terminal:
        yield _print_progress_lines()
        return
    columns = (SpinnerColumn(), TextColumn("{task.completed:,.0f} verified"), TimeElapsedColumn())
    is_hidden = requested is False or not console.is_terminal
    with Progress(*columns, console=console, disable=is_hidden, transient=True) as bar:
        task = bar.add_task("verify", total=None)
        yield lambda number: bar.advance(task, number)


def _print_progress_lines() -> Callable[[int], None]:
    verified = printed = 0

    def advance(number: int) -> None:
        nonlocal verified, printed
        verified += number
        if verified - printed >= _STEP:
            printed = verified
            print_error(f"{verified:,} verified")

    return advance
