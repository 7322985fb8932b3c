"""`aex lint`: problems, warnings and cost range of success criteria, offline."""

from typing import Annotated

import typer
from rich.console import Console

from aex_cli.commands import Config
from aex_cli.offline.documents import STDIN, read_document
from aex_cli.offline.jobs import load_metric_catalog
from aex_cli.offline.linting import LintReport, lint_files
from aex_cli.report import Report, create_report
from aex_models.audiences import Audience, project
from aex_models.money import format_amount
from aex_models.work import Quote, QuoteCase
from aex_runtime.commandline import UserError, write_json_to_stdout

app = typer.Typer(rich_markup_mode="markdown", add_completion=False)


@app.command(epilog="Example: `aex lint criteria.yaml --work work.json`")
def lint(
    criteria: Annotated[str, typer.Argument(metavar="CRITERIA", help="Success criteria, or a work.")],
    work: Annotated[
        str | None, typer.Option(metavar="FILE", help="The work: evaluation data, and the budget for a quote.")
    ] = None,
    config: Config = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as problems: exit code 1.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="As POST /v1/work/validate answers: valid, problems, warnings, quote.")
    ] = False,
) -> None:
    """Check success criteria: print every problem, every warning, and the least and greatest cost.

    Files are JSON or YAML; `-` is standard input. If the work has a reference, the engine scores it by the criteria.

    Exit codes: 0 valid (with or without warnings), 1 problems, 2 unreadable file or wrong option.
    """
    if criteria == work == STDIN:
        raise UserError("only one of the files can be standard input", "name the other one")
    catalog = load_metric_catalog(config)
    linted = lint_files(
        read_document("the command", criteria),
        None if work is None else read_document("--work", work),
        catalog,
        only_known_verifiers=config is not None,
    )
    validation = linted.validation
    if as_json:
        write_json_to_stdout(project(validation, Audience.CONSUMER))
    else:
        _print_findings(linted, create_report(Console()))
    raise typer.Exit(1 if validation.problems or (strict and validation.warnings) else 0)


def _print_findings(linted: LintReport, report: Report) -> None:
    validation, sources = linted.validation, linted.sources
    for problem in validation.problems:
        report.print_step("problem", sources.prefix_with_location(problem.path, f"{problem.message} ({problem.code})"))
    for warning in validation.warnings:
        text = f"{warning.message} ({warning.code}). {warning.suggestion}"
        report.print_step("warning", sources.prefix_with_location(warning.path, text))
    if validation.quote is not None:
        _print_quote(validation.quote, report)
    elif validation.valid:
        report.print_step("quote", "none without a budget: name the work with --work")
    counts = f"{_count(validation.problems, 'problem')}, {_count(validation.warnings, 'warning')}"
    report.print_step("valid" if validation.valid else "invalid", counts)


def _count(items: tuple[object, ...], noun: str) -> str:
    return f"{len(items) or 'no'} {noun}{'' if len(items) == 1 else 's'}"


def _print_quote(quote: Quote, report: Report) -> None:
    least, most = format_amount(quote.minimum.total), format_amount(quote.maximum.total)
    report.print_step("quote", f"a contract at max_cpc costs {least} to {most} {quote.currency}")
    report.print_step("least", _describe_case(quote.minimum))
    report.print_step("most", _describe_case(quote.maximum))


def _describe_case(case: QuoteCase) -> str:
    total, base, bonus, penalty = (format_amount(each) for each in (case.total, case.base, case.bonus, case.penalty))
    met, unmet = (", ".join(names) or "nothing" for names in (case.met, case.unmet))
    success = "a success" if case.success else "no success"
    return f"{total} = {base} base + {bonus} bonus - {penalty} penalty; {success}; met: {met}; not met: {unmet}"
