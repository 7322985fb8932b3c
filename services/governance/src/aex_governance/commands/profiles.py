"""Command `aex profiles rebuild`: rebuild governance's projections from its log."""

import asyncio
import time
from pathlib import Path
from typing import Annotated

import typer

from aex_governance.handlers.fold_log import Rebuilder
from aex_governance.handlers.rebuild import RebuiltProjections, rebuild_projections
from aex_runtime.command_backends import has_store, open_service_backends, read_suite_settings_and_configure_logging
from aex_runtime.commandline import (
    CommandFailed,
    UserError,
    progress_bars,
    write_json_to_stdout,
    write_line_to_stdout,
    write_rows_to_stdout,
)
from aex_runtime.errors import Conflict
from aex_runtime.leases import LeaseLost
from aex_runtime.settings import RuntimeSettings

SERVICE = "governance"
COLUMNS = ("log", "read", "counted", "counted_before")

app = typer.Typer(
    rich_markup_mode="markdown",
    add_completion=False,
    no_args_is_help=True,
    help="Maintain the projections of governance: profiles, recent counts, the indexes of texts.",
)


@app.callback()
def profiles() -> None:
    """Keep `rebuild` a sub-command although it is the only one."""


@app.command("rebuild", epilog="Example: `aex profiles rebuild --data-dir .aex`")
def rebuild_command(
    data_dir: Annotated[Path, typer.Option(envvar="AEX_DATA_DIR", help="The suite's data directory.")] = Path(".aex"),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Rebuild profiles, recent counts and the indexes of texts from the log.

    Works beside a running suite, which reads the old projections until the new ones are complete. The next rebuild
    resumes one that was killed. Exits with 0 on success, 1 on failure, 2 for bad input.
    """
    settings = read_suite_settings_and_configure_logging(data_dir)
    if not has_store(settings, SERVICE):
        raise UserError(f"governance has stored nothing in {data_dir} yet", "start the suite with aex up")
    begin = time.monotonic()
    rebuilt = asyncio.run(_rebuild(settings))
    _print(rebuilt, time.monotonic() - begin, as_json=as_json)


async def _rebuild(settings: RuntimeSettings) -> RebuiltProjections:
    with progress_bars() as report:
        async with open_service_backends(settings, SERVICE) as backends:
            try:
                rebuilder = Rebuilder(backends.store, backends.clock, backends.ids, report)
                return await rebuild_projections(rebuilder)
            except Conflict as error:
                raise CommandFailed(error.message) from None
            except LeaseLost:
                raise CommandFailed("another rebuild took over after a delay of this one; nothing was lost") from None


def _print(rebuilt: RebuiltProjections, seconds: float, *, as_json: bool) -> None:
    rows: list[dict[str, object]] = [
        {"log": name, "read": mark.read, "counted": mark.folded, "counted_before": mark.read - mark.folded}
        for name, mark in rebuilt.logs.items()
    ]
    if as_json:
        report = {
            "generation": rebuilt.generation,
            "logs": rows,
            "removed": rebuilt.removed,
            "resumed": rebuilt.resumed,
        }
        write_json_to_stdout({**report, "seconds": round(seconds, 3)})
        return
    write_rows_to_stdout(COLUMNS, rows)
    if rebuilt.resumed:
        write_line_to_stdout("resumed an interrupted rebuild; records that it had read were not read again")
    write_line_to_stdout(f"rebuilt in {seconds:.1f} s; {rebuilt.removed} old documents removed")
