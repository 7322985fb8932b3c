"""`aex outcomes`: export of outcomes to a file."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from aex_cli.commands import DEFAULT_DIR, create_command_group
from aex_cli.commands.token import create_token_issuer
from aex_cli.report import write_atomically
from aex_client import AexClient, AexError, Endpoints
from aex_client.call import Call
from aex_client.calls import export_outcomes, export_rollouts
from aex_models.audiences import Audience
from aex_runtime.command_backends import read_suite_settings_and_configure_logging
from aex_runtime.commandline import CommandFailed, print_error, write_line_to_stdout
from aex_runtime.logs import configure_logging

app = create_command_group("Export the outcomes of contracts, as records or as rollouts for trainers.")


class LineFormat(StrEnum):
    """The content of each exported line: outcome records, or rollouts."""

    JSONL = "jsonl"
    ROLLOUTS = "rollouts"


_CALLS: dict[LineFormat, Callable[..., Call[Any]]] = {
    LineFormat.JSONL: export_outcomes,
    LineFormat.ROLLOUTS: export_rollouts,
}


@app.callback()
def outcomes() -> None:
    """Export outcomes."""  # without this callback typer would make the only sub-command the command itself


@app.command(epilog="Example: `aex outcomes export --format rollouts --out rollouts.jsonl`")
def export(
    line_format: Annotated[
        LineFormat, typer.Option("--format", help="Outcome records, or rollouts.")
    ] = LineFormat.JSONL,
    out: Annotated[Path | None, typer.Option(help="The file; without it, stdout.", show_default=False)] = None,
    agent_id: Annotated[str | None, typer.Option("--agent", help="Only this agent's.")] = None,
    consumer_id: Annotated[str | None, typer.Option("--consumer", help="Only this consumer's.")] = None,
    domain: Annotated[str | None, typer.Option(help="Only this domain's.")] = None,
    first_day: Annotated[str | None, typer.Option("--from", help="First UTC day, such as 2025-01-01.")] = None,
    last_day: Annotated[str | None, typer.Option("--to", help="Last UTC day, included.")] = None,
    url: Annotated[
        str, typer.Option(envvar="AEX_VERIFICATION_URL", help="URL of the verification service.")
    ] = "http://127.0.0.1:8082",
    token: Annotated[
        str | None,
        typer.Option(envvar="AEX_TOKEN", help="A bearer token.", show_default="an operator's, of the data directory"),
    ] = None,
    data_dir: Annotated[
        Path, typer.Option(envvar="AEX_DATA_DIR", help="The suite's data directory, for its key.")
    ] = DEFAULT_DIR,
) -> None:
    """Write outcomes, oldest first, one JSON object a line. The file appears only once it is complete.

    Rollouts leave out outcomes without a score: contracts without a judged candidate.
    """
    filters = {"agent_id": agent_id, "consumer_id": consumer_id, "domain": domain}
    call = _CALLS[line_format](**filters, first_day=first_day, last_day=last_day)
    configure_logging("aex", "warning", "console")  # stdout is only for the lines
    if not token:
        read_suite_settings_and_configure_logging(data_dir)  # refuses a directory without data
        token = create_token_issuer(data_dir).mint("aex-outcomes-export", Audience.OPERATOR, ttl=timedelta(hours=1))
    try:
        with AexClient(Endpoints(url, url, url, url), token) as client:
            count = _write(client.rows(replace(call, read=bytes)), out)
    except AexError as error:
        raise CommandFailed(f"nothing was exported: {error}" if out else f"the export is incomplete: {error}") from None
    _print_count(count, line_format, out)


def _print_count(count: int, line_format: LineFormat, out: Path | None) -> None:
    noun = "outcomes" if line_format is LineFormat.JSONL else "rollouts"
    if out is None:
        print_error(f"{count} {noun}")  # stdout is only for the lines
    else:
        write_line_to_stdout(f"{count} {noun} written to {out}")


def _write(lines: Iterator[bytes], out: Path | None) -> int:
    """Write the lines to a file, or to stdout if `out` is None, and return their number."""
    count = 0
    with ExitStack() as stack:
        file: BinaryIO = stack.enter_context(write_atomically(out)) if out else sys.stdout.buffer
        advance = stack.enter_context(_show_progress(enabled=out is not None))
        for count, line in enumerate(lines, start=1):  # noqa: B007 the last one is the number of lines
            file.write(line + b"\n")
            advance()
        file.flush()
    return count


@contextmanager
def _show_progress(*, enabled: bool) -> Iterator[Callable[[], None]]:
    """Show progress and yield the function to call after each line. The total is unknown."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.completed:.0f} exported"), TimeElapsedColumn())
    disabled = not (enabled and console.is_terminal)
    with Progress(*columns, console=console, disable=disabled, transient=True) as progress:
        task = progress.add_task("export", total=None)
        yield lambda: progress.advance(task)
