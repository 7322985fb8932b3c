"""Shared parts of commands: errors, settings, backends, output and progress bars."""

import json
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Protocol

from pydantic import ValidationError
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from aex_runtime.bus.port import BusError
from aex_runtime.logs import configure_logging
from aex_runtime.service import Backends, open_backends
from aex_runtime.settings import BadConfiguration, RuntimeSettings, setting_problems
from aex_runtime.store.port import StoreError

EMPTY = "–"
_SQLITE = "sqlite:///"


class UserError(Exception):
    """Error that the user can fix: the problem and the next step, printed as one line without a traceback."""

    exit_code = 2

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.message, self.fix = message, fix

    def text(self) -> str:
        """Return the message and its fix as one line."""
        return " ".join((f"{self.message}; {self.fix}" if self.fix else self.message).split())


class CommandFailed(UserError):
    """Failure that the user did not cause. The message may hold the end of a log."""

    exit_code = 1

    def text(self) -> str:
        return self.message


def read_settings(data_dir: Path) -> RuntimeSettings:
    """Return the settings that the services would read, with this data directory. Raises `UserError`."""
    try:
        return RuntimeSettings(data_dir=data_dir.expanduser().resolve())
    except ValidationError as error:
        raise UserError("; ".join(setting_problems(error)), "correct the AEX_… variable") from None


def read_suite_settings(data_dir: Path) -> RuntimeSettings:
    """Return the settings of an existing suite. Raises `UserError` without its data directory."""
    settings = read_settings(data_dir)
    if settings.store_url is None and not settings.data_dir.is_dir():
        raise UserError(f"there is no data directory {data_dir}", "name the suite's with --data-dir")
    configure_logging("aex", "warning", "console")
    return settings


def has_store(settings: RuntimeSettings, service: str) -> bool:
    """Return whether the service's store exists; opening it would create its file."""
    url = settings.store_url_of(service)
    return not url.startswith(_SQLITE) or Path(url.removeprefix(_SQLITE)).exists()


@asynccontextmanager
async def open_service_backends(settings: RuntimeSettings, service: str) -> AsyncIterator[Backends]:
    """Yield the service's backends and close them. Errors of store and bus become `CommandFailed`."""
    try:
        backends = open_backends(settings, service)
    except BadConfiguration as error:
        raise UserError(str(error), "correct the variable") from None
    try:
        yield backends
    except (StoreError, BusError) as error:
        raise CommandFailed(f"{service}: {error}; nothing was lost; retry") from None
    finally:
        await backends.bus.close()
        await backends.store.close()


def print_error(line: str) -> None:
    """Write one line to stderr, after the command's name."""
    sys.stderr.write(f"aex: {line}\n")
    sys.stderr.flush()


def write_line(line: str) -> None:
    """Write one line to stdout and flush it, for the reader of a pipe."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def write_json(value: Any) -> None:
    """Write a JSON document to stdout."""
    write_line(json.dumps(value, indent=2, ensure_ascii=False))


def write_rows(columns: Sequence[str], rows: Sequence[Mapping[str, object]], title: str = "") -> None:
    """Write rows of named cells: a table on a terminal, else a header and tab-separated lines."""
    console = Console()
    if not console.is_terminal:
        write_line("\t".join(columns))
        for row in rows:
            cells = ("" if cell is None else " ".join(str(cell).split()) for cell in map(row.get, columns))
            write_line("\t".join(cells))
        return
    table = Table(*columns, title=escape(title) or None, title_justify="left", header_style="bold")
    for row in rows:
        table.add_row(*(escape(EMPTY if cell is None else str(cell)) for cell in map(row.get, columns)))
    console.print(table)


class ProgressCallback(Protocol):
    """Callback of a long operation with its stage, the amount done and the total."""

    def __call__(self, stage: str, done: int, total: int, /) -> None: ...


@contextmanager
def progress_bars() -> Iterator[ProgressCallback]:
    """Yield a callback that draws a bar per stage on stderr, when that is a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    stages: dict[str, TaskID] = {}
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:

        def update(stage: str, done: int, total: int, /) -> None:
            if stage not in stages:
                stages[stage] = progress.add_task(stage, total=total)
            progress.update(stages[stage], completed=done, total=total)

        yield update
