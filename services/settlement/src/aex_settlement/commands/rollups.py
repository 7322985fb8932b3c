"""Command `aex rollups rebuild`: rebuild the projections from the journal."""

import asyncio
import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from aex_runtime.command_backends import has_store, read_suite_settings_and_configure_logging
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
from aex_settlement.commands.ledger import SERVICE, open_ledger
from aex_settlement.handlers.journal.rebuild import RebuiltProjection, rebuild_ledger_projections
from aex_settlement.repository.journal import read_journal_head
from aex_settlement.rules.journal import LedgerCorrupt
from aex_settlement.rules.projections import Projection

app = typer.Typer(
    rich_markup_mode="markdown",
    add_completion=False,
    no_args_is_help=True,
    help="Maintain the projections of the ledger: rollups, balances, account entries.",
)
COLUMNS = ("projection", "batches", "removed")


class ProjectionChoice(StrEnum):
    """Values of the option `--only`: the projections by name."""

    ROLLUPS = Projection.ROLLUPS.value
    ACCOUNTS = Projection.ACCOUNTS.value


@app.callback()
def rollups() -> None:
    """Keep `rebuild` a sub-command although it is the only one."""


@app.command("rebuild", epilog="Example: `aex rollups rebuild --only rollups`")
def rebuild_command(
    data_dir: Annotated[Path, typer.Option(envvar="AEX_DATA_DIR", help="The suite's data directory.")] = Path(".aex"),
    only: Annotated[ProjectionChoice | None, typer.Option(help="One of them.", show_default="both")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Rebuild rollups and accounts (balances, entries, days) from the sealed journal.

    Works beside a running suite: readers keep the old generation until the new one is complete, also when this command
    is killed. Exits with 0 when done, 1 on failure, 2 for bad input.
    """
    settings = read_suite_settings_and_configure_logging(data_dir)
    if not has_store(settings, SERVICE):
        raise UserError(f"there is no ledger in {data_dir} yet", "start the suite with aex up")
    begin = time.monotonic()
    projections = list(Projection) if only is None else [Projection(only.value)]
    rebuilt = asyncio.run(_rebuild(settings, data_dir, projections))
    rows = [{"projection": each.projection.value, "batches": each.seq, "removed": each.removed} for each in rebuilt]
    seconds = time.monotonic() - begin
    if as_json:
        write_json_to_stdout({"projections": rows, "seconds": round(seconds, 3)})
    else:
        write_rows_to_stdout(COLUMNS, rows)
        write_line_to_stdout(f"rebuilt in {seconds:.1f} s")


async def _rebuild(
    settings: RuntimeSettings, data_dir: Path, projections: Sequence[Projection]
) -> Sequence[RebuiltProjection]:
    with progress_bars() as progress:
        async with open_ledger(settings) as deps:
            try:
                if await read_journal_head(deps.store) is None:
                    raise UserError(f"nothing was sealed in {data_dir} yet", "start the suite with aex up")
                return await rebuild_ledger_projections(
                    deps, projections, lambda done, total: progress("batches", done, total)
                )
            except Conflict as error:
                raise CommandFailed(error.message) from None
            except LeaseLost:
                raise CommandFailed("this rebuild lost its lease to another one; readers keep what they had") from None
            except LedgerCorrupt as error:
                raise CommandFailed(f"the journal is damaged: {error}; run aex ledger verify") from None
