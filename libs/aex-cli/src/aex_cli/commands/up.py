"""`aex up`: the whole suite on this machine."""

import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from aex_cli.suite.banner import show_banner
from aex_cli.suite.child import Launch
from aex_cli.suite.data_directory import DataDirectory, open_data_directory
from aex_cli.suite.environment import suite_environment
from aex_cli.suite.lock import suite_lock
from aex_cli.suite.ports import check_ports
from aex_cli.suite.service_spec import MAX_REPLICAS, MODULES, ServiceSpec, default_suite, ready_line
from aex_cli.suite.supervisor import SuiteFailed, SuitePolicy, Supervisor
from aex_runtime.commandline.errors import Failed, UserError
from aex_runtime.commandline.output import complain, write_line

app = typer.Typer(rich_markup_mode="markdown", add_completion=False)
_LAST_PORT = 65_535
LAST_BASE = _LAST_PORT + 1 - len(MODULES)


@app.command(epilog="Example: `aex up --data-dir ~/aex --port-base 9081`")
def up(
    data_dir: Annotated[
        Path, typer.Option(envvar="AEX_DATA_DIR", help="Where everything is kept; made on first start.")
    ] = Path(".aex"),
    port_base: Annotated[
        int, typer.Option(min=1, max=LAST_BASE, help="The first of four consecutive ports on 127.0.0.1.")
    ] = 8081,
    replicas: Annotated[
        int, typer.Option(min=1, max=MAX_REPLICAS, help="Processes of each service; every four take the next ports.")
    ] = 1,
    config: Annotated[
        Path | None, typer.Option(help="outcome-verification.yaml: extractors, verification, caching.")
    ] = None,
) -> None:
    """Start work-publisher, verification, governance and settlement; print one `ready` line once all answer.

    Ctrl-C or SIGTERM stops all of them, a second Ctrl-C kills them. A service that dies is restarted. The next start
    goes on with the data.
    """
    if config is not None and not config.is_file():
        raise UserError(f"there is no file {config}", "check the path given to --config")
    specs = default_suite(port_base, replicas)
    if specs[-1].port > _LAST_PORT:
        raise UserError(f"{len(specs)} ports from {port_base} on go beyond {_LAST_PORT}", "choose a lower --port-base")
    raise typer.Exit(run_suite(specs, data_dir, config, patience(replicas)))


def patience(replicas: int) -> SuitePolicy:
    """The usual one; they start side by side, and take longer the more they are."""
    usual = SuitePolicy()
    return replace(usual, ready_s=usual.ready_s * replicas)


def run_suite(specs: Sequence[ServiceSpec], data_dir: Path, config: Path | None, policy: SuitePolicy) -> int:
    """Run the services on the data directory until asked to stop; the exit code.

    Raises `UserError` where the directory or a port is taken, `Failed` where a service does not start or stay up.
    """
    begin = time.monotonic()
    directory = open_data_directory(data_dir)
    with suite_lock(directory.lock, complain) as lock:
        check_ports(specs)
        environment = suite_environment(os.environ, directory.root, config)
        supervisor = Supervisor(
            specs,
            Launch(environment, directory.logs, inherit=(lock,)),
            policy,
            on_ready=lambda: _announce(specs, directory, time.monotonic() - begin),
            notify=complain,
        )
        try:
            return asyncio.run(supervisor.run())
        except SuiteFailed as error:
            raise Failed(str(error)) from None


def _announce(specs: Sequence[ServiceSpec], directory: DataDirectory, seconds: float) -> None:
    console = Console()
    if console.is_terminal:
        show_banner(console, specs, directory, seconds)
    write_line(ready_line(specs))
