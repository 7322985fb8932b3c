"""`aex lint`: what is wrong or odd about success criteria, and what they can cost, offline."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from aex_cli.offline.confined import load_catalog
from aex_cli.offline.documents import STDIN, read_document
from aex_cli.offline.linting import Linted, lint_files
from aex_cli.report import Report, report_on
from aex_models.audiences import Audience, project
from aex_models.money import format_amount
from aex_models.work import Quote, QuoteCase
from aex_runtime.commandline.errors import UserError
from aex_runtime.commandline.output import write_json

app = typer.Typer(rich_markup_mode="markdown", add_completion=False)


@app.command(epilog="Example: `aex lint criteria.yaml --work work.json`")
def lint(
    criteria: Annotated[str, typer.Argument(metavar="CRITERIA", help="Success criteria, or a whole work.")],
    work: Annotated[
        str | None, typer.Option(metavar="FILE", help="The work: evaluation data, and the budget for a quote.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(envvar="AEX_OUTCOME_CONFIG", help="outcome-verification.yaml, as the services use.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as problems: exit code 1.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="As POST /v1/work/validate answers: valid, problems, warnings, quote.")
    ] = False,
) -> None:
    """Check success criteria: every problem, every warning, and the least and most that they can cost.

    Files are JSON or YAML; `-` is standard input. Where the work has a reference, the engine judges it by the criteria.

    Exit codes: 0 valid (with or without warnings), 1 problems, 2 a file cannot be read or an option is wrong.
    """
    if criteria == work == STDIN:
        raise UserError("standard input can be one of the files", "name the other one")
    catalog = load_catalog(config)
    linted = lint_files(
        read_document("the command", criteria),
        None if work is None else read_document("--work", work),
        catalog,
        configured=config is not None,
    )
    if as_json:
        write_json(project(linted.found, Audience.CONSUMER))
    else:
        _tell(linted, report_on(Console()))
    raise typer.Exit(1 if linted.found.problems or (strict and linted.found.warnings) else 0)


def _tell(linted: Linted, report: Report) -> None:
    found, sources = linted.found, linted.sources
    for problem in found.problems:
        report.step("problem", sources.told(problem.path, f"{problem.message} ({problem.code})"))
    for warning in found.warnings:
        said = f"{warning.message} ({warning.code}). {warning.suggestion}"
        report.step("warning", sources.told(warning.path, said))
    if found.quote is not None:
        _quote(found.quote, report)
    elif found.valid:
        report.step("quote", "none without a budget: name the work with --work")
    counts = f"{_count(found.problems, 'problem')}, {_count(found.warnings, 'warning')}"
    report.step("valid" if found.valid else "invalid", counts)


def _count(found: tuple[object, ...], what: str) -> str:
    return f"{len(found) or 'no'} {what}{'' if len(found) == 1 else 's'}"


def _quote(quote: Quote, report: Report) -> None:
    least, most = format_amount(quote.minimum.total), format_amount(quote.maximum.total)
    report.step("quote", f"a contract at max_cpc costs {least} to {most} {quote.currency}")
    report.step("least", _case(quote.minimum))
    report.step("most", _case(quote.maximum))


def _case(case: QuoteCase) -> str:
    total, base, bonus, penalty = (format_amount(each) for each in (case.total, case.base, case.bonus, case.penalty))
    met, unmet = (", ".join(names) or "nothing" for names in (case.met, case.unmet))
    success = "a success" if case.success else "no success"
    return f"{total} = {base} base + {bonus} bonus - {penalty} penalty; {success}; met: {met}; not met: {unmet}"
