"""`aex up`: run the four services on this machine."""

import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from aex_cli.commands import DEFAULT_DIR, NewDataDir
from aex_cli.suite.child import Launch
from aex_cli.suite.data_directory import lock_data_directory, prepare_data_directory
from aex_cli.suite.readiness import print_ready_line
from aex_cli.suite.service_spec import (
    LAST_BASE,
    MAX_REPLICAS,
    ServiceSpec,
    build_suite_environment,
    plan_suite,
    require_free_ports,
)
from aex_cli.suite.supervisor import SuiteFailed, SuitePolicy, Supervisor
from aex_runtime.commandline import CommandFailed, UserError, print_error

app = typer.Typer(rich_markup_mode="markdown", add_completion=False)


@app.command(epilog="Example: `aex up --data-dir ~/aex --port-base 9081`")
def up(
    data_dir: NewDataDir = DEFAULT_DIR,
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
    """Start work-publisher, verification, governance and settlement; print `ready` when all answer.

    Ctrl-C or SIGTERM stops all of them, a second Ctrl-C kills them. A service that dies is restarted. The next start
    continues with the data.
    """
    if config is not None and not config.is_file():
        raise UserError(f"there is no file {config}", "check the path given to --config")
    specs = plan_suite(port_base, replicas)
    raise typer.Exit(run_suite(specs, data_dir, config, build_suite_policy(replicas)))


def build_suite_policy(replicas: int) -> SuitePolicy:
    """Return the default limits of the suite, with `replicas` times as long to become ready.

    All replicas start at the same time and share the processors.
    """
    default = SuitePolicy()
    return replace(default, ready_s=default.ready_s * replicas)


def run_suite(specs: Sequence[ServiceSpec], data_dir: Path, config: Path | None, policy: SuitePolicy) -> int:
    """Run the services on a data directory until a stop signal, and return the exit code.

    Locks the directory, prints the ready line, and restarts services that end. Raises `UserError` if the directory or a
    port is taken, `CommandFailed` if a service does not start or ends too often.
    """
    begin = time.monotonic()
    root = prepare_data_directory(data_dir)
    with lock_data_directory(root, print_error) as lock:
        require_free_ports(specs)
        environment = build_suite_environment(os.environ, root, config)
        supervisor = Supervisor(
            specs,
            Launch(environment, root / "logs", inherit=(lock,)),
            policy,
            on_ready=lambda: print_ready_line(specs, root, time.monotonic() - begin),
            notify=print_error,
        )
        try:
            return asyncio.run(supervisor.run())
        except SuiteFailed as error:
            raise CommandFailed(str(error)) from None
