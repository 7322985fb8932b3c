"""`aex domains`: list scientific domains and check a domain file, offline."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from aex_cli.commands import create_command_group
from aex_cli.report import Report, create_report
from aex_models.audiences import Audience, project
from aex_models.domains import Domain, ValueRange
from aex_outcomes.config import InvalidConfig
from aex_outcomes.science.domains.domain_file import read_domain_file
from aex_outcomes.science.domains.registry import DomainRegistry
from aex_runtime.commandline import UserError, write_json_to_stdout, write_line_to_stdout, write_rows_to_stdout

app = create_command_group("List scientific domains, show one, check a domain file.")
Folder = Annotated[Path | None, typer.Option(help="A folder of further domains, as the services use.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON as in the API.")]


@app.command("list", epilog="Example: `aex domains list --folder my_domains`")
def list_command(folder: Folder = None, as_json: AsJson = False) -> None:
    """List all domains: the packaged ones and those of a folder."""
    registry = _load_registry(folder)
    if as_json:
        write_json_to_stdout([project(each, Audience.CONSUMER) for each in registry.domains])
        return
    columns = ("name", "aliases", "quantities", "description")
    cells = (
        [each.name, ", ".join(each.aliases), ", ".join(each.value_ranges), each.description]
        for each in registry.domains
    )
    write_rows_to_stdout(columns, [dict(zip(columns, each, strict=True)) for each in cells])


@app.command("show", epilog="Example: `aex domains show bioinformatics/DMS`")
def show_command(
    name: Annotated[str, typer.Argument(help="A name or an alias.")],
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Show one domain: its ranges, columns, common issues and sanity checks."""
    registry = _load_registry(folder)
    found = registry.get(name)
    if found is None:
        raise UserError(f"there is no domain {name!r}", f"choose one of {', '.join(registry.names)}")
    if as_json:
        write_json_to_stdout(project(found, Audience.CONSUMER))
    else:
        _print_domain(found, create_report(Console()))


@app.command("check", epilog="Example: `aex domains check my_domains/spectroscopy.yaml`")
def check_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A domain's YAML file.")],
    folder: Folder = None,
) -> None:
    """Check the shape of a domain file, and its names against the packaged domains and those of a folder.

    Exit codes: 0 valid, 1 invalid, with every problem printed, 2 unreadable file or wrong option.
    """
    if not file.is_file():
        raise UserError(f"there is no file {file}", "check the path")
    others = _load_registry(folder)
    try:
        domain = read_domain_file(file)
        if folder is None or file.resolve().parent != folder.resolve():  # else it was read with the others
            others.with_domain(domain, str(file))
    except InvalidConfig as error:
        for path, problem in error.problems:
            write_line_to_stdout(f"{path}: {problem}")
        raise typer.Exit(1) from None
    write_line_to_stdout(f"valid: {domain.name}, {len(domain.value_ranges)} ranges, {len(domain.keywords)} keywords")


def _load_registry(folder: Path | None) -> DomainRegistry:
    try:
        return DomainRegistry.load(folder)
    except InvalidConfig as error:
        raise UserError(str(error), "correct it, or name another --folder") from None


def _print_domain(domain: Domain, report: Report) -> None:
    report.print_step("domain", ", ".join((domain.name, *domain.aliases)))
    report.print_step("about", domain.description)
    for name, each in domain.value_ranges.items():
        aliases = f"; also {', '.join(each.aliases)}" if each.aliases else ""
        report.print_step("range", f"{name} {_format_range(each)}{aliases}")
    if domain.common_columns:
        report.print_step("scores in", ", ".join(domain.common_columns))
    for issue in domain.common_issues:
        report.print_step("issue", issue)
    for check in domain.sanity_checks:
        report.print_step("check", f"{check.name}: {check.description}")


def _format_range(value_range: ValueRange) -> str:
    low, high = value_range.min, value_range.max
    unit = f" {value_range.unit}" if value_range.unit else ""
    if low is not None and high is not None:
        return f"[{low:g}, {high:g}]{unit}"
    if low is None and high is None:
        return f"unbounded{unit}"
    return f"≥ {low:g}{unit}" if low is not None else f"≤ {high:g}{unit}"
