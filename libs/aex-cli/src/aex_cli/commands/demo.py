"""`aex demo`: publish, deliver, verify and settle four works, and print each step."""

import asyncio
import os
from typing import Annotated

import typer
from rich.console import Console

from aex_cli.commands import DEFAULT_DIR, NewDataDir
from aex_cli.demo.digits import require_package
from aex_cli.demo.run import DemoSetup, Interrupted, describe_storage, plan_suite_on_free_ports, run_demo
from aex_cli.report import create_report
from aex_cli.suite.child import Launch
from aex_cli.suite.data_directory import lock_data_directory, prepare_data_directory
from aex_cli.suite.service_spec import LAST_BASE, build_suite_environment
from aex_cli.suite.supervisor import SuiteFailed
from aex_runtime.command_backends import read_settings
from aex_runtime.commandline import CommandFailed, print_error
from aex_runtime.logs import configure_logging

app = typer.Typer(rich_markup_mode="markdown", add_completion=False)


@app.command(epilog="Example: `aex demo --data-dir /tmp/aex-demo`")
def demo(
    data_dir: NewDataDir = DEFAULT_DIR,
    port_base: Annotated[
        int, typer.Option(min=1, max=LAST_BASE, help="The first of four consecutive ports; others if these are taken.")
    ] = 8081,
) -> None:
    """Publish four works on this machine, deliver, verify and settle them, and print each step.

    Starts the four services, as `aex up` does and with the same `AEX_…` variables, and stops them at the end. The data
    stay: run it again, or read them with `aex up`. Needs scikit-learn: `pip install 'aex-cli[demo]'`.
    """
    require_package("sklearn", "scikit-learn")
    storage = describe_storage(read_settings(data_dir), data_dir, os.environ)
    root = prepare_data_directory(data_dir)
    report = create_report(Console())
    with lock_data_directory(root, print_error) as lock:
        configure_logging("aex", "warning", "console")
        specs = plan_suite_on_free_ports(port_base)
        if specs[0].port != port_base:
            print_error(f"ports from {port_base} on are taken; using {specs[0].port} to {specs[-1].port}")
        launch = Launch(build_suite_environment(os.environ, root, None), root / "logs", inherit=(lock,))
        try:
            asyncio.run(run_demo(DemoSetup(specs, launch, data_dir, storage), report))
        except SuiteFailed as error:
            raise CommandFailed(str(error)) from None
        except Interrupted:
            raise typer.Exit(130) from None
