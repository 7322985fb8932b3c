"""`aex profiles rebuild`: what the rules remember, made anew from the log."""

import asyncio
import time
from pathlib import Path
from typing import Annotated

import typer

from aex_governance.handlers.rebuild.rebuild_projections import Rebuilt, rebuild_projections
from aex_governance.handlers.rebuild.rebuilder import Rebuilder
from aex_runtime.commandline.embedded import backends_of, existing_suite, has_store
from aex_runtime.commandline.errors import Failed, UserError
from aex_runtime.commandline.output import write_json, write_line, write_rows
from aex_runtime.commandline.progress import bars
from aex_runtime.errors import Conflict
from aex_runtime.leases import LeaseLost
from aex_runtime.settings import RuntimeSettings

SERVICE = "governance"
COLUMNS = ("log", "read", "counted", "counted_before")

app = typer.Typer(
    rich_markup_mode="markdown",
    add_completion=False,
    no_args_is_help=True,
    help="Look after what governance remembers of agents: profiles, paces, the indexes of texts.",
)


@app.callback()
def profiles() -> None:
    """Keep `rebuild` a sub-command though it is the only one."""


@app.command("rebuild", epilog="Example: `aex profiles rebuild --data-dir .aex`")
def rebuild_command(
    data_dir: Annotated[Path, typer.Option(envvar="AEX_DATA_DIR", help="The suite's data directory.")] = Path(".aex"),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Make profiles, paces and the indexes of texts anew from the log of validations and outcomes.

    Works beside a running suite: what is there is read until the new is complete, then the new. One that was killed is
    gone on with by the next. Exits with 0 when it is done, 1 when it could not be done, 2 for bad input.
    """
    settings = existing_suite(data_dir)
    if not has_store(settings, SERVICE):
        raise UserError(f"governance has kept nothing in {data_dir} yet", "start the suite with aex up")
    begin = time.monotonic()
    made = asyncio.run(_rebuilt(settings))
    _print(made, time.monotonic() - begin, as_json=as_json)


async def _rebuilt(settings: RuntimeSettings) -> Rebuilt:
    with bars() as tell:
        async with backends_of(settings, SERVICE) as backends:
            try:
                rebuilder = Rebuilder(backends.store, backends.clock, backends.ids, tell)
                return await rebuild_projections(rebuilder)
            except Conflict as error:
                raise Failed(error.message) from None
            except LeaseLost:
                raise Failed("this rebuild was held up and another took over; nothing was lost by that") from None


def _print(made: Rebuilt, seconds: float, *, as_json: bool) -> None:
    rows: list[dict[str, object]] = [
        {"log": name, "read": mark.read, "counted": mark.folded, "counted_before": mark.read - mark.folded}
        for name, mark in made.logs.items()
    ]
    if as_json:
        told = {"generation": made.generation, "logs": rows, "removed": made.removed, "resumed": made.resumed}
        write_json({**told, "seconds": round(seconds, 3)})
        return
    write_rows(COLUMNS, rows)
    if made.resumed:
        write_line("went on with a rebuild that had been cut short: what that one had read is not read again")
    write_line(f"made anew in {seconds:.1f} s; {made.removed} documents of before removed")
