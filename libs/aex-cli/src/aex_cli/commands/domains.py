"""`aex domains`: scientific domains, and whether one of one's own can be used, offline."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from aex_cli.report import Report, report_on
from aex_models.audiences import Audience, project
from aex_models.domains import Domain, ValueRange
from aex_outcomes.config import InvalidConfig
from aex_outcomes.science.domains.registry import DomainRegistry, read_domain
from aex_runtime.commandline.errors import UserError
from aex_runtime.commandline.output import write_json, write_line, write_rows

app = typer.Typer(
    rich_markup_mode="markdown",
    add_completion=False,
    no_args_is_help=True,
    help="Scientific domains: list them, show one, check a file of one's own.",
)
Folder = Annotated[Path | None, typer.Option(help="A folder of further domains, as the services are given.")]
AsJson = Annotated[bool, typer.Option("--json", help="As the API answers.")]


@app.command("list", epilog="Example: `aex domains list --folder my_domains`")
def list_command(folder: Folder = None, as_json: AsJson = False) -> None:
    """Show every domain: the packaged ones, and those of a folder."""
    registry = _registry(folder)
    if as_json:
        write_json([_shown(each) for each in registry.domains])
        return
    columns = ("name", "aliases", "quantities", "description")
    write_rows(columns, [_row(each) for each in registry.domains])


@app.command("show", epilog="Example: `aex domains show bioinformatics/DMS`")
def show_command(
    name: Annotated[str, typer.Argument(help="A name or an alias.")],
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Show one domain: its ranges, columns, common issues and sanity checks."""
    registry = _registry(folder)
    found = registry.get(name)
    if found is None:
        raise UserError(f"there is no domain {name!r}", f"choose one of {', '.join(registry.names)}")
    if as_json:
        write_json(_shown(found))
    else:
        _tell(found, report_on(Console()))


@app.command("check", epilog="Example: `aex domains check my_domains/spectroscopy.yaml`")
def check_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A domain's YAML file.")],
    folder: Folder = None,
) -> None:
    """Check a domain's file: its shape, and that it goes together with the packaged domains and those of a folder.

    Exit codes: 0 it can be used, 1 it cannot: every problem is told, 2 it cannot be read or an option is wrong.
    """
    if not file.is_file():
        raise UserError(f"there is no file {file}", "check the path")
    others = _registry(folder)
    try:
        domain = read_domain(file)
        if folder is None or file.resolve().parent != folder.resolve():  # else it has been read with the others
            others.plus(domain, str(file))
    except InvalidConfig as error:
        for place, problem in error.problems:
            write_line(f"{place}: {problem}")
        raise typer.Exit(1) from None
    write_line(f"valid: {domain.name}, {len(domain.value_ranges)} ranges, {len(domain.keywords)} keywords")


def _registry(folder: Path | None) -> DomainRegistry:
    try:
        return DomainRegistry.load(folder)
    except InvalidConfig as error:
        raise UserError(str(error), "correct it, or give --folder another one") from None


def _shown(domain: Domain) -> dict[str, Any]:
    return project(domain, Audience.CONSUMER)


def _row(domain: Domain) -> dict[str, object]:
    return {
        "name": domain.name,
        "aliases": ", ".join(domain.aliases),
        "quantities": ", ".join(domain.value_ranges),
        "description": domain.description,
    }


def _tell(domain: Domain, report: Report) -> None:
    report.step("domain", ", ".join((domain.name, *domain.aliases)))
    report.step("about", domain.description)
    for name, each in domain.value_ranges.items():
        report.step("range", f"{name} {_range(each)}" + (f"; also {', '.join(each.aliases)}" if each.aliases else ""))
    if domain.common_columns:
        report.step("scores in", ", ".join(domain.common_columns))
    for issue in domain.common_issues:
        report.step("issue", issue)
    for check in domain.sanity_checks:
        report.step("check", f"{check.name}: {check.description}")


def _range(of: ValueRange) -> str:
    unit = f" {of.unit}" if of.unit else ""
    if of.min is not None and of.max is not None:
        return f"[{of.min:g}, {of.max:g}]{unit}"
    if of.min is None and of.max is None:
        return f"unbounded{unit}"
    return f"≥ {of.min:g}{unit}" if of.min is not None else f"≤ {of.max:g}{unit}"
