"""`aex outcomes`: how contracts ended, as a file."""

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

from aex_cli.signing_key import signing_key
from aex_cli.whole_file import written_whole
from aex_client import AexClient, AexError, Endpoints
from aex_client.call import Call
from aex_client.calls import export_outcomes, export_rollouts
from aex_models.audiences import Audience
from aex_runtime.clock import WallClock
from aex_runtime.commandline.embedded import existing_suite
from aex_runtime.commandline.errors import Failed
from aex_runtime.commandline.output import complain, write_line
from aex_runtime.identity.local_issuer import LocalIssuer
from aex_runtime.ids import RandomIds

app = typer.Typer(
    rich_markup_mode="markdown",
    add_completion=False,
    no_args_is_help=True,
    help="How contracts ended: export it, for books or for trainers.",
)
DEFAULT_DIR = Path(".aex")
_TTL = timedelta(hours=1)


class Format(StrEnum):
    """What each line holds."""

    JSONL = "jsonl"
    ROLLOUTS = "rollouts"


_CALLS: dict[Format, Callable[..., Call[Any]]] = {Format.JSONL: export_outcomes, Format.ROLLOUTS: export_rollouts}


@app.callback()
def outcomes() -> None:
    """Keep `export` a sub-command though it is the only one."""


@app.command(epilog="Example: `aex outcomes export --format rollouts --out rollouts.jsonl`")
def export(
    written: Annotated[Format, typer.Option("--format", help="Outcome records, or rollouts.")] = Format.JSONL,
    out: Annotated[Path | None, typer.Option(help="The file; without it, to stdout.", show_default=False)] = None,
    agent_id: Annotated[str | None, typer.Option("--agent", help="This agent's alone.")] = None,
    consumer_id: Annotated[str | None, typer.Option("--consumer", help="This consumer's alone.")] = None,
    domain: Annotated[str | None, typer.Option(help="This domain's alone.")] = None,
    first_day: Annotated[str | None, typer.Option("--from", help="First UTC day, such as 2025-01-01.")] = None,
    last_day: Annotated[str | None, typer.Option("--to", help="Last UTC day, included.")] = None,
    url: Annotated[
        str, typer.Option(envvar="AEX_VERIFICATION_URL", help="Where the verification service is.")
    ] = "http://127.0.0.1:8082",
    token: Annotated[
        str | None,
        typer.Option(envvar="AEX_TOKEN", help="A bearer token.", show_default="an operator's, of the data directory"),
    ] = None,
    data_dir: Annotated[
        Path, typer.Option(envvar="AEX_DATA_DIR", help="The suite's data directory, for its key.")
    ] = DEFAULT_DIR,
) -> None:
    """Write outcomes, oldest first, one JSON object a line. A file is there only once it is whole.

    Rollouts leave out what has no score: contracts of which nothing was judged.
    """
    filters = {"agent_id": agent_id, "consumer_id": consumer_id, "domain": domain}
    call = _CALLS[written](**filters, first_day=first_day, last_day=last_day)
    bearer = token or _operators_token(data_dir)
    try:
        with AexClient(Endpoints(url, url, url, url), bearer) as client:
            count = _write(client.rows(replace(call, read=bytes)), out)
    except AexError as error:
        raise Failed(f"nothing was exported: {error}" if out else f"what came is not all: {error}") from None
    what = "outcomes" if written is Format.JSONL else "rollouts"
    if out is None:
        complain(f"{count} {what}")  # stdout is for the lines alone
    else:
        write_line(f"{count} {what} written to {out}")


def _operators_token(data_dir: Path) -> str:
    """Whoever may read the suite's key may see all."""
    existing_suite(data_dir)
    issuer = LocalIssuer(signing_key(data_dir), WallClock(), RandomIds())
    return issuer.mint("aex-outcomes-export", Audience.OPERATOR, ttl=_TTL)


def _write(lines: Iterator[bytes], out: Path | None) -> int:
    """How many lines were written."""
    count = 0
    with ExitStack() as stack:
        file: BinaryIO = stack.enter_context(written_whole(out)) if out else sys.stdout.buffer
        told = stack.enter_context(_counting(shown=out is not None))
        for count, line in enumerate(lines, start=1):  # noqa: B007 the last one is how many there were
            file.write(line + b"\n")
            told()
        file.flush()
    return count


@contextmanager
def _counting(*, shown: bool) -> Iterator[Callable[[], None]]:
    """Something to call for each line: how many there will be nobody knows."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.completed:.0f} exported"), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not (shown and console.is_terminal), transient=True) as progress:
        task = progress.add_task("export", total=None)
        yield lambda: progress.advance(task)
