"""`aex deadletters`: messages that no handler could deal with, shown and replayed."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from aex_cli.dead_letter_desk import Shelved, list_letters, replay_all, replay_one
from aex_cli.suite.service_spec import MODULES
from aex_runtime.commandline.embedded import existing_suite
from aex_runtime.commandline.errors import UserError
from aex_runtime.commandline.output import write_json, write_line, write_rows
from aex_runtime.settings import RuntimeSettings

app = typer.Typer(
    rich_markup_mode="markdown",
    add_completion=False,
    no_args_is_help=True,
    help="Messages that a service gave up on: list them, replay them. Works beside a running suite.",
)
COLUMNS = ("id", "service", "topic", "subject", "reason", "count", "last_at")

Service = Annotated[str | None, typer.Option(help=f"One of {', '.join(MODULES)}.", show_default="all")]
DataDir = Annotated[Path, typer.Option(envvar="AEX_DATA_DIR", help="The suite's data directory.")]
DEFAULT_DIR = Path(".aex")


@app.command("list", epilog="Example: `aex deadletters list --service settlement --json`")
def list_command(
    service: Service = None,
    data_dir: DataDir = DEFAULT_DIR,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many of each service.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON array.")] = False,
) -> None:
    """Show what died, newest first: where, about what, why and how often. Contents are not shown."""
    found = asyncio.run(list_letters(existing_suite(data_dir), _services(service), limit))
    rows = [_row(each) for each in found]
    if as_json:
        write_json(rows)
    elif rows or not Console().is_terminal:
        write_rows(COLUMNS, rows)
    else:
        write_line("no dead letters")


@app.command("replay", epilog="Example: `aex deadletters replay --all --service settlement`")
def replay_command(
    letter: Annotated[str | None, typer.Argument(help="The id that `list` shows.", metavar="ID")] = None,
    every: Annotated[bool, typer.Option("--all", help="All dead letters of one service.")] = False,
    service: Service = None,
    data_dir: DataDir = DEFAULT_DIR,
) -> None:
    """Deliver dead letters again, to the service that gave up on them alone. Mend the cause first."""
    if every == (letter is not None):
        raise UserError("name one dead letter, or --all", "see aex deadletters list")
    settings = existing_suite(data_dir)
    if letter is None:
        if service is None:
            raise UserError("--all replays those of one service", f"add --service, one of {', '.join(MODULES)}")
        _replay_every(settings, _services(service)[0])
        return
    replayed = asyncio.run(replay_one(settings, _services(service), letter))
    if replayed is None:
        raise UserError(f"there is no dead letter {letter}", "see aex deadletters list; it may have been replayed")
    write_line(f"replayed {letter} to {replayed}")


def _replay_every(settings: RuntimeSettings, service: str) -> None:
    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task(f"replaying to {service}", total=None)
        count = asyncio.run(replay_all(settings, service, lambda _: progress.advance(task)))
    write_line(f"replayed {count} to {service}")


def _services(service: str | None) -> list[str]:
    if service is None:
        return list(MODULES)
    if service not in MODULES:
        raise UserError(f"there is no service {service!r}", f"choose one of {', '.join(MODULES)}")
    return [service]


def _row(each: Shelved) -> dict[str, object]:
    return {"service": each.service} | each.letter.model_dump(mode="json")
