"""`aex deadletters`: list and replay the dead letters of the services."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from aex_cli.commands import DEFAULT_DIR, DataDir, create_command_group
from aex_cli.suite.service_spec import MODULES, select_services
from aex_runtime.bus.port import Bus
from aex_runtime.command_backends import has_store, open_service_backends, read_suite_settings_and_configure_logging
from aex_runtime.commandline import UserError, write_json_to_stdout, write_line_to_stdout, write_rows_to_stdout
from aex_runtime.deadletters import DeadLetter, DeadLetters, NoSuchDeadLetter
from aex_runtime.settings import RuntimeSettings
from aex_runtime.store.table import iterate_items

_PAGE = 200


@dataclass(frozen=True, slots=True)
class ServiceDeadLetter:
    """A dead letter, and the name of the service whose handler failed."""

    service: str
    dead_letter: DeadLetter


async def list_dead_letters(settings: RuntimeSettings, services: Sequence[str], limit: int) -> list[ServiceDeadLetter]:
    """Return the newest `limit` dead letters of each service, sorted by time, newest first."""
    found: list[ServiceDeadLetter] = []
    for service in services:
        if has_store(settings, service):
            async with _open_dead_letters(settings, service) as (letters, _):
                newest = iterate_items(letters.list, _PAGE, limit)
                found += [ServiceDeadLetter(service, letter) async for letter in newest]
    return sorted(found, key=lambda each: each.dead_letter.last_at, reverse=True)


async def replay_dead_letter(settings: RuntimeSettings, services: Sequence[str], letter_id: str) -> str | None:
    """Replay the dead letter with this id and return the name of its service; None if no service has it."""
    for service in services:
        if has_store(settings, service):
            async with _open_dead_letters(settings, service) as (letters, bus):
                if await _replay(letters, bus, letter_id):
                    return service
    return None


async def replay_all_dead_letters(settings: RuntimeSettings, service: str, on_replayed: Callable[[str], None]) -> int:
    """Replay the current dead letters of a service, oldest first, and return how many were replayed.

    `on_replayed` is called with the id of each.
    """
    if not has_store(settings, service):
        return 0
    count = 0
    async with _open_dead_letters(settings, service) as (letters, bus):
        # Listed first: a replayed message that fails again becomes a dead letter under the same id.
        listed = [letter.id async for letter in iterate_items(letters.list, _PAGE)]
        for letter_id in reversed(listed):
            if await _replay(letters, bus, letter_id):
                on_replayed(letter_id)
                count += 1
    return count


@asynccontextmanager
async def _open_dead_letters(settings: RuntimeSettings, service: str) -> AsyncIterator[tuple[DeadLetters, Bus]]:
    async with open_service_backends(settings, service) as backends:
        yield DeadLetters(service, backends.store, backends.clock), backends.bus


async def _replay(letters: DeadLetters, bus: Bus, letter_id: str) -> bool:
    try:
        await letters.replay(letter_id, bus)
    except NoSuchDeadLetter:
        return False
    return True


app = create_command_group("List and replay messages whose handler failed too often. Works beside a running suite.")
COLUMNS = ("id", "service", "topic", "subject", "reason", "count", "last_at")

Service = Annotated[str | None, typer.Option(help=f"One of {', '.join(MODULES)}.", show_default="all")]


@app.command("list", epilog="Example: `aex deadletters list --service settlement --json`")
def list_command(
    service: Service = None,
    data_dir: DataDir = DEFAULT_DIR,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="The most to list of each service.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON array.")] = False,
) -> None:
    """List dead letters, newest first: service, topic, subject, reason and count, without contents."""
    found = asyncio.run(
        list_dead_letters(read_suite_settings_and_configure_logging(data_dir), select_services(service), limit)
    )
    rows = [{"service": each.service} | each.dead_letter.model_dump(mode="json") for each in found]
    if as_json:
        write_json_to_stdout(rows)
    elif rows or not Console().is_terminal:
        write_rows_to_stdout(COLUMNS, rows)
    else:
        write_line_to_stdout("no dead letters")


@app.command("replay", epilog="Example: `aex deadletters replay --all --service settlement`")
def replay_command(
    letter: Annotated[str | None, typer.Argument(help="The id that `list` shows.", metavar="ID")] = None,
    every: Annotated[bool, typer.Option("--all", help="All dead letters, of one service or of all.")] = False,
    service: Service = None,
    data_dir: DataDir = DEFAULT_DIR,
) -> None:
    """Deliver dead letters again, only to the service whose handler failed. Remove the cause first."""
    if every == (letter is not None):
        raise UserError("name one dead letter, or --all", "see aex deadletters list")
    settings = read_suite_settings_and_configure_logging(data_dir)
    if letter is None:
        for each in select_services(service):
            write_line_to_stdout(f"replayed {_replay_with_progress(settings, each)} to {each}")
        return
    replayed = asyncio.run(replay_dead_letter(settings, select_services(service), letter))
    if replayed is None:
        raise UserError(f"there is no dead letter {letter}", "see aex deadletters list; it may have been replayed")
    write_line_to_stdout(f"replayed {letter} to {replayed}")


def _replay_with_progress(settings: RuntimeSettings, service: str) -> int:
    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task(f"replaying to {service}", total=None)
        return asyncio.run(replay_all_dead_letters(settings, service, lambda _: progress.advance(task)))
