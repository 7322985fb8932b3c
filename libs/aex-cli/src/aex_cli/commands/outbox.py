"""`aex outbox`: list, show, replay and discard the events that the bus refused."""

import asyncio
import getpass
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console

from aex_cli.commands import DEFAULT_DIR, DataDir, create_command_group
from aex_cli.suite.service_spec import MODULES, select_services
from aex_runtime.blobs.port import BlobUnavailable
from aex_runtime.bus.dataref import EventData
from aex_runtime.command_backends import has_store, open_service_backends, read_suite_settings_and_configure_logging
from aex_runtime.commandline import (
    CommandFailed,
    UserError,
    write_json_to_stdout,
    write_line_to_stdout,
    write_rows_to_stdout,
)
from aex_runtime.outbox_parked import NoSuchParkedEvent, ParkedEvent, ParkedEvents
from aex_runtime.settings import RuntimeSettings
from aex_runtime.store.table import Stored, iterate_items

_PAGE = 100
_COLUMNS = ("id", "service", "type", "subject", "reason", "tries", "parked_at", "bytes")
Row = dict[str, Any]
T = TypeVar("T")
EventAction = Callable[[ParkedEvents, EventData, str], Awaitable[T]]
"""A function that acts on the parked event with an id. Raises `NoSuchParkedEvent` if there is none."""

app = create_command_group("List, replay and discard events that the bus refused. Works beside a running suite.")
Service = Annotated[str | None, typer.Option(help=f"One of {', '.join(MODULES)}.", show_default="all")]
EventId = Annotated[str | None, typer.Argument(help="The id that `list` shows.", metavar="ID")]
All = Annotated[bool, typer.Option("--all", help="All parked events of the service.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON.")]


@app.command("list", epilog="Example: `aex outbox list --service settlement --json`")
def list_command(
    service: Service = None,
    data_dir: DataDir = DEFAULT_DIR,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="The most to list of each service.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List parked events, newest first, without their data."""
    rows = asyncio.run(_list_rows(read_suite_settings_and_configure_logging(data_dir), select_services(service), limit))
    if as_json:
        write_json_to_stdout(rows)
    elif rows or not Console().is_terminal:
        write_rows_to_stdout(_COLUMNS, rows)
    else:
        write_line_to_stdout("no parked events")


@app.command("show", epilog="Example: `aex outbox show evt_4f… --service settlement`")
def show_command(
    event: Annotated[str, typer.Argument(help="The id that `list` shows.", metavar="ID")],
    service: Service = None,
    data_dir: DataDir = DEFAULT_DIR,
) -> None:
    """Print one parked event as JSON, without its data, which may be secret."""

    async def get(parked: ParkedEvents, _: EventData, event_id: str) -> Stored[ParkedEvent]:
        return await parked.get(event_id)

    owner, found = asyncio.run(
        _apply_to_event(read_suite_settings_and_configure_logging(data_dir), select_services(service), event, get)
    )
    write_json_to_stdout(_row(owner, found))


@app.command("replay", epilog="Example: `aex outbox replay --all --service settlement`")
def replay_command(
    event: EventId = None, every: All = False, service: Service = None, data_dir: DataDir = DEFAULT_DIR
) -> None:
    """Put parked events back into the outbox, which sends them again. Remove the cause first."""

    async def replay(parked: ParkedEvents, event_data: EventData, event_id: str) -> None:
        await parked.replay(event_id, event_data)

    _apply_and_print("replayed", replay, event, every, service, data_dir)


@app.command("discard", epilog="Example: `aex outbox discard evt_4f… --reason 'sent by hand'`")
def discard_command(
    reason: Annotated[str, typer.Option(help="Why the effect is not needed; written to the audit log.")],
    event: EventId = None,
    every: All = False,
    service: Service = None,
    data_dir: DataDir = DEFAULT_DIR,
) -> None:
    """Delete parked events permanently, so that they never take effect. Logged with `audit=true`."""
    if not reason.strip():
        raise UserError("--reason is empty", "say why the event is not needed")

    async def discard(parked: ParkedEvents, _: EventData, event_id: str) -> None:
        await parked.discard(event_id, reason, find_user_name())

    _apply_and_print("discarded", discard, event, every, service, data_dir)


def find_user_name() -> str:
    """Return the name of the operating system's user; the user's number if no name is known."""
    try:
        return getpass.getuser()
    except KeyError:
        return f"uid:{os.getuid()}"


def _apply_and_print(
    done: str, action: EventAction[None], event: str | None, every: bool, service: str | None, data_dir: DataDir
) -> None:
    """Apply an action to one parked event, or to all of the chosen services, and print the result."""
    if every == (event is not None):
        raise UserError("name one event, or --all", "see aex outbox list")
    settings, services = read_suite_settings_and_configure_logging(data_dir), select_services(service)
    if event is None:
        for each in services:
            write_line_to_stdout(f"{done} {asyncio.run(_apply_to_all_events(settings, each, action))} of {each}")
        return
    owner, _ = asyncio.run(_apply_to_event(settings, services, event, action))
    write_line_to_stdout(f"{done} {event} of {owner}")


async def _list_rows(settings: RuntimeSettings, services: Sequence[str], limit: int) -> list[Row]:
    rows: list[Row] = []
    for service in services:
        if has_store(settings, service):
            async with _open_parked(settings, service) as (parked, _):
                rows += [_row(service, each) async for each in iterate_items(parked.list, _PAGE, limit)]
    return sorted(rows, key=lambda row: str(row["parked_at"]), reverse=True)


async def _apply_to_event(
    settings: RuntimeSettings, services: Sequence[str], event: str, action: EventAction[T]
) -> tuple[str, T]:
    """Apply an action to an event; return its service and the action's result.

    Raises `UserError` if no service has the event.
    """
    for service in services:
        if has_store(settings, service):
            async with _open_parked(settings, service) as (parked, event_data):
                with suppress(NoSuchParkedEvent):
                    return service, await action(parked, event_data, event)
    raise UserError(f"{event} is not parked", "see aex outbox list; it may have been replayed")


async def _apply_to_all_events(settings: RuntimeSettings, service: str, action: EventAction[None]) -> int:
    """Apply an action to all parked events of a service, oldest first, and return their number.

    Events that another command replayed or discarded meanwhile do not count.
    """
    if not has_store(settings, service):
        return 0
    count = 0
    async with _open_parked(settings, service) as (parked, event_data):
        # Listed first: a replayed event that is refused again is parked under the same id.
        listed = [each.document.key async for each in iterate_items(parked.list, _PAGE)]
        for event in reversed(listed):
            with suppress(NoSuchParkedEvent):  # another command acted on it meanwhile
                await action(parked, event_data, event)
                count += 1
    return count


@asynccontextmanager
async def _open_parked(settings: RuntimeSettings, service: str) -> AsyncIterator[tuple[ParkedEvents, EventData]]:
    """Open the stores of a service and yield its parked events, and the store of large events' data."""
    async with open_service_backends(settings, service) as backends:
        try:
            yield ParkedEvents(service, backends.store, backends.clock), backends.event_data
        except BlobUnavailable as error:
            raise CommandFailed(f"{service}: {error}; nothing was changed; retry") from None


def _row(service: str, stored: Stored[ParkedEvent]) -> Row:
    event, parked = stored.record.event, stored.record
    return {
        "id": event.id,
        "service": service,
        "type": event.type,
        "subject": event.subject,
        "time": event.time.isoformat(),
        "reason": parked.reason,
        "tries": parked.tries,
        "parked_at": parked.parked_at.isoformat(),
        "bytes": len(stored.document.body),
        "dataref": event.dataref,
    }
