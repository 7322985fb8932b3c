"""`aex demo`: the main job on real text and data, step by step."""

import asyncio
import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from aex_cli.commands.up import LAST_BASE
from aex_cli.demo.digits import require_package
from aex_cli.demo.places import places_of
from aex_cli.demo.play import Stage, play
from aex_cli.demo.running import Interrupted, free_suite
from aex_cli.report import report_on
from aex_cli.suite.child import Launch
from aex_cli.suite.data_directory import open_data_directory
from aex_cli.suite.environment import suite_environment
from aex_cli.suite.lock import suite_lock
from aex_cli.suite.supervisor import SuiteFailed
from aex_runtime.commandline.embedded import read_settings
from aex_runtime.commandline.errors import Failed
from aex_runtime.commandline.output import complain
from aex_runtime.logs import configure_logging

app = typer.Typer(rich_markup_mode="markdown", add_completion=False)


@app.command(epilog="Example: `aex demo --data-dir /tmp/aex-demo`")
def demo(
    data_dir: Annotated[
        Path, typer.Option(envvar="AEX_DATA_DIR", help="Where everything is kept; made on first start.")
    ] = Path(".aex"),
    port_base: Annotated[
        int, typer.Option(min=1, max=LAST_BASE, help="The first of four consecutive ports; others if these are taken.")
    ] = 8081,
) -> None:
    """Publish three works, deliver, verify and settle them, on this machine, and say what happens at each step.

    Starts the four services, as `aex up` does and on the same `AEX_…` variables, and stops them at the end. The data
    stay: run it again, or look at them with `aex up`. Needs scikit-learn: `pip install 'aex-cli[demo]'`.
    """
    require_package("sklearn", "scikit-learn")
    places = places_of(read_settings(data_dir), data_dir, os.environ)
    directory = open_data_directory(data_dir)
    report = report_on(Console())
    with suite_lock(directory.lock, complain) as lock:
        configure_logging("aex", "warning", "console")
        specs = free_suite(port_base)
        if specs[0].port != port_base:
            complain(f"ports from {port_base} on are taken; using {specs[0].port} to {specs[-1].port}")
        launch = Launch(suite_environment(os.environ, directory.root, None), directory.logs, inherit=(lock,))
        stage = Stage(specs, launch, data_dir, places)
        try:
            asyncio.run(play(stage, report))
        except SuiteFailed as error:
            raise Failed(str(error)) from None
        except Interrupted:
            raise typer.Exit(130) from None
