"""The run of the demo: start the suite, run the four works, show the settlement, stop the suite."""

import asyncio
import shlex
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from aex_cli.commands.token import create_token_issuer
from aex_cli.demo.clients import open_demo_clients
from aex_cli.demo.digits import DigitReader, load_training_digits, run_digits_work
from aex_cli.demo.fitness import run_fitness_work
from aex_cli.demo.program import run_program_work
from aex_cli.demo.settlement import show_and_check_settlements
from aex_cli.demo.steps import DemoFailed, measure_log_sizes, read_log_excerpts, show_next_steps
from aex_cli.demo.summary import run_summary_work
from aex_cli.report import Report
from aex_cli.suite.child import Launch
from aex_cli.suite.service_spec import MODULES, ServiceSpec, find_free_port_base, plan_suite
from aex_cli.suite.supervisor import SuitePolicy, Supervisor
from aex_client import AexError, Endpoints
from aex_runtime.commandline import CommandFailed, UserError, print_error
from aex_runtime.settings import RuntimeSettings

T = TypeVar("T")
_VARIABLES = ("AEX_STORE_URL", "AEX_BUS_URL", "AEX_BLOBS_URL", "AEX_KEY_FILE")
_EMULATORS = ("FIRESTORE_EMULATOR_HOST", "PUBSUB_EMULATOR_HOST", "STORAGE_EMULATOR_HOST")


class Interrupted(Exception):
    """The error for a stop signal before the end of the demo."""


def plan_suite_on_free_ports(port_base: int) -> tuple[ServiceSpec, ...]:
    """Return the four services with the first free ports from `port_base` on.

    Raises `UserError` if none are free.
    """
    base = find_free_port_base(port_base, len(MODULES))
    if base is None:
        raise UserError(f"no four consecutive ports are free from {port_base} on", "choose a lower --port-base")
    return plan_suite(base)


async def run_with_suite(
    specs: Sequence[ServiceSpec], launch: Launch, action: Callable[[], Awaitable[T]], notify: Callable[[str], None]
) -> T:
    """Start the services, run `action` once all are ready, stop the services, and return its result.

    Raises the errors of `action`, `SuiteFailed` if a service does not start or ends too often, and `Interrupted` after
    a stop signal. In every case no service is left running.
    """
    ready = asyncio.Event()

    async def run_when_ready() -> T:
        await ready.wait()
        return await action()

    suite = asyncio.create_task(Supervisor(specs, launch, SuitePolicy(), ready.set, notify).run())
    work = asyncio.create_task(run_when_ready())
    try:
        await asyncio.wait({suite, work}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (work, suite):
            task.cancel()
        await asyncio.gather(work, suite, return_exceptions=True)
    if work.cancelled():
        suite.result()
        raise Interrupted
    return work.result()


@dataclass(frozen=True, slots=True)
class StorageSummary:
    """A description of where the demo's data are stored, to print."""

    description: str
    retention: str
    """Description of how long the data stay after the services stop."""
    exports: str | None
    """A shell line that sets the variables of this storage; None if the data directory is enough."""


def describe_storage(settings: RuntimeSettings, data_dir: Path, environ: Mapping[str, str]) -> StorageSummary:
    """Return a description of the storage that the settings select. `data_dir` is printed as given."""
    names = [name for name in (*_EMULATORS, *_VARIABLES) if environ.get(name)]
    variables = " ".join(f"{name}={shlex.quote(environ[name])}" for name in names)
    exports = f"export {variables}" if set(names) & set(_VARIABLES) else None
    storages = [
        ("records", settings.store_url, "firestore:", settings.firestore_emulator_host),
        ("events", settings.bus_url, "pubsub:", settings.pubsub_emulator_host),
        ("blobs", settings.blobs_url, "gs:", settings.storage_emulator_host),
    ]
    if not any(url for _, url, _, _ in storages):
        return StorageSummary(f"data in {data_dir}", "the data stay", exports)
    hosts = {name: host for name, url, scheme, host in storages if host and url and url.startswith(scheme)}
    descriptions = ", ".join(
        f"{name} in {url or data_dir}" + (f" on the emulator {hosts[name]}" if name in hosts else "")
        for name, url, _, _ in storages
    )
    emulated = " and ".join(", ".join(hosts).rsplit(", ", 1))
    retention = f"{emulated} stay as long as the emulators run" if hosts else "the data stay"
    return StorageSummary(descriptions, retention, exports)


@dataclass(frozen=True, slots=True)
class DemoSetup:
    """The services and the storage of a demo, and the data directory as the user wrote it."""

    specs: Sequence[ServiceSpec]
    launch: Launch
    data_dir: Path
    storage: StorageSummary


async def run_demo(setup: DemoSetup, report: Report) -> None:
    """Start the suite, run all works, stop the suite, and print every step.

    Raises `CommandFailed` if a result differs from the expected one, and the errors of `run_with_suite`. In every case
    no process is left running.
    """
    begin = time.monotonic()
    first, last = setup.specs[0].port, setup.specs[-1].port
    report.print_heading("AEX Outcomes: agents are paid for verified outcomes")
    report.print_step("start", f"four services as four processes, ports {first} to {last}")
    report.print_step("kept", setup.storage.description)
    # In parallel with the services' start: scikit-learn's import takes seconds.
    training = asyncio.create_task(asyncio.to_thread(lambda: DigitReader(*load_training_digits())))
    try:
        contract_id = await run_with_suite(
            setup.specs, setup.launch, lambda: _run_works(setup, training, begin, report), print_error
        )
    finally:
        training.cancel()
        await asyncio.gather(training, return_exceptions=True)
    report.print_step(
        "stopped", f"the suite is down, {setup.storage.retention}; {time.monotonic() - begin:.1f} s in all"
    )
    show_next_steps(setup.specs, setup.data_dir, setup.storage.exports, contract_id, report)


async def _run_works(setup: DemoSetup, training: Awaitable[DigitReader], begin: float, report: Report) -> str:
    """Run all works and return the id of the first contract. Raises `CommandFailed` with log excerpts."""
    sizes = measure_log_sizes(setup.specs, setup.launch)
    ready = time.monotonic()
    report.print_step("ready", f"all four answer, after {ready - begin:.1f} s")
    endpoints = Endpoints(*(spec.url for spec in setup.specs))
    try:
        async with open_demo_clients(endpoints, create_token_issuer(setup.data_dir)) as clients:
            outcomes = [
                await run_summary_work(clients, report),
                await run_digits_work(clients, training, report),
                await run_fitness_work(clients, report),
            ]
            program = await run_program_work(clients, report)
            outcomes += [] if program is None else [program]
            await show_and_check_settlements(clients, outcomes, report)
    except (DemoFailed, AexError) as error:
        raise CommandFailed(f"the demo did not run as expected: {error}\n{read_log_excerpts(sizes)}") from None
    report.print_step("time", f"{time.monotonic() - ready:.1f} s from the first publication to the trial balance")
    return outcomes[0].contract_id
