"""`aex rollups rebuild`: what finance reads, made anew from the journal."""

import asyncio
import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from aex_runtime.commandline.embedded import existing_suite, has_store
from aex_runtime.commandline.errors import Failed, UserError
from aex_runtime.commandline.output import write_json, write_line, write_rows
from aex_runtime.commandline.progress import bars
from aex_runtime.errors import Conflict
from aex_runtime.leases import LeaseLost
from aex_runtime.settings import RuntimeSettings
from aex_settlement.commands.desk import SERVICE, open_desk
from aex_settlement.handlers.journal.rebuild_projections import Rebuilt, rebuild
from aex_settlement.repository.journal import read_head
from aex_settlement.rules.broken import Broken
from aex_settlement.rules.projected import Projection

app = typer.Typer(
    rich_markup_mode="markdown",
    add_completion=False,
    no_args_is_help=True,
    help="Look after what is projected from the ledger: rollups, balances, account sheets.",
)
COLUMNS = ("projection", "batches", "removed")


class Only(StrEnum):
    """Which projection."""

    ROLLUPS = Projection.ROLLUPS.value
    ACCOUNTS = Projection.ACCOUNTS.value


@app.callback()
def rollups() -> None:
    """Keep `rebuild` a sub-command though it is the only one."""


@app.command("rebuild", epilog="Example: `aex rollups rebuild --only rollups`")
def rebuild_command(
    data_dir: Annotated[Path, typer.Option(envvar="AEX_DATA_DIR", help="The suite's data directory.")] = Path(".aex"),
    only: Annotated[Only | None, typer.Option(help="One of them.", show_default="both")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Make rollups and accounts (balances, sheets, days) anew from the sealed journal.

    Works beside a running suite: what is there is read until the new is complete, then the new; also where this command
    is killed. Exits with 0 when that is done, 1 when it could not be done, 2 for bad input.
    """
    settings = existing_suite(data_dir)
    if not has_store(settings, SERVICE):
        raise UserError(f"there is no ledger in {data_dir} yet", "start the suite with aex up")
    begin = time.monotonic()
    projections = list(Projection) if only is None else [Projection(only.value)]
    rows = [_row(each) for each in asyncio.run(_rebuilt(settings, data_dir, projections))]
    seconds = time.monotonic() - begin
    if as_json:
        write_json({"projections": rows, "seconds": round(seconds, 3)})
    else:
        write_rows(COLUMNS, rows)
        write_line(f"made anew in {seconds:.1f} s")


async def _rebuilt(settings: RuntimeSettings, data_dir: Path, projections: Sequence[Projection]) -> Sequence[Rebuilt]:
    with bars() as tell:
        async with open_desk(settings) as deps:
            try:
                if await read_head(deps.store) is None:
                    raise UserError(f"nothing was sealed in {data_dir} yet", "start the suite with aex up")
                return await rebuild(deps, projections, lambda done, total: tell("batches", done, total))
            except Conflict as error:
                raise Failed(error.message) from None
            except LeaseLost:
                raise Failed(
                    "this rebuild was held up and another took over; nothing was changed by this one"
                ) from None
            except Broken as error:
                raise Failed(f"the journal is not in order: {error}; see aex ledger verify") from None


def _row(each: Rebuilt) -> dict[str, object]:
    return {"projection": each.projection.value, "batches": each.seq, "removed": each.removed}
