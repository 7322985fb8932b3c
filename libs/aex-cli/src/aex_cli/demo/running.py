"""The suite of `aex up`, for as long as a story takes."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from aex_cli.commands.up import LAST_BASE
from aex_cli.suite.child import Launch
from aex_cli.suite.ports import check_ports
from aex_cli.suite.service_spec import ServiceSpec, default_suite
from aex_cli.suite.supervisor import SuitePolicy, Supervisor
from aex_runtime.commandline.errors import UserError

T = TypeVar("T")
_STEP = 100


class Interrupted(Exception):
    """A signal asked for the end before the story had come to it."""


def free_suite(port_base: int) -> tuple[ServiceSpec, ...]:
    """The four services on free ports, from `port_base` on. Raises `UserError` where none are free."""
    for base in range(port_base, LAST_BASE + 1, _STEP):
        specs = default_suite(base)
        try:
            check_ports(specs)
        except UserError:
            continue
        return specs
    raise UserError(f"no four consecutive ports are free from {port_base} on", "choose a lower --port-base")


async def while_up(
    specs: Sequence[ServiceSpec], launch: Launch, story: Callable[[], Awaitable[T]], notify: Callable[[str], None]
) -> T:
    """Start the services, let the story happen once all are ready, stop them; what the story came to.

    Raises what the story raises, `SuiteFailed` where a service does not start or stay up, and `Interrupted`.
    However it ends, no service is left.
    """
    ready = asyncio.Event()
    suite = asyncio.create_task(Supervisor(specs, launch, SuitePolicy(), ready.set, notify).run())
    told = asyncio.create_task(_after(ready, story))
    try:
        await asyncio.wait({suite, told}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (told, suite):
            task.cancel()
        await asyncio.gather(told, suite, return_exceptions=True)
    if told.cancelled():
        suite.result()
        raise Interrupted
    return told.result()


async def _after(ready: asyncio.Event, story: Callable[[], Awaitable[T]]) -> T:
    await ready.wait()
    return await story()
