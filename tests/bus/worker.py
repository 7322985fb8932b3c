"""A process that publishes or consumes, and what starts it."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import structlog

from aex_runtime.bus.consume_loop import ConsumePolicy
from aex_runtime.bus.embedded import EmbeddedBus
from aex_runtime.bus.factory import open_bus
from aex_runtime.bus.port import Ack, Bus, Delivery, Disposition
from tests.bus.messages import CHECKED, TIMEOUT_S, name_of, outgoing

ROOT = Path(__file__).parents[2]
KILLER = "killer"
"""Messages whose names begin so kill the process of the action `die`."""
POLICY = ConsumePolicy(poll=timedelta(seconds=600), visibility=timedelta(seconds=2))
DYING = ConsumePolicy(poll=timedelta(seconds=0.1), visibility=timedelta(hours=1), isolation=timedelta(seconds=1))


class Worker:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        assert process.stdout is not None
        self._lines = process.stdout

    async def line(self) -> str:
        async with asyncio.timeout(TIMEOUT_S):
            return (await self._lines.readline()).decode().strip()

    async def kill(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()

    async def got(self) -> list[str]:
        await self.kill()
        lines = (await self._lines.read()).decode().split("\n")
        return [line.removeprefix("got ") for line in lines if line.startswith("got ")]


@asynccontextmanager
async def working(bus: str, *arguments: str, environment: Mapping[str, str] | None = None) -> AsyncIterator[Worker]:
    command = [sys.executable, "-m", "tests.bus.worker", bus, *arguments]
    variables = {**os.environ, **(environment or {})}
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, cwd=ROOT, env=variables)
    worker = Worker(process)
    try:
        assert await worker.line() == "ready"
        yield worker
    finally:
        await worker.kill()


def print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def consume(bus: Bus, action: str) -> None:
    """Consume until killed; of the action `hold` each message is handled until the signal USR1."""
    released = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, released.set)

    async def receive(delivery: Delivery) -> Disposition:
        if action == "die" and name_of(delivery).startswith(KILLER):
            os.kill(os.getpid(), signal.SIGKILL)
        if action == "die":
            await asyncio.sleep(0.02)
        print_line(f"got {name_of(delivery)}")
        if action == "hold":
            await released.wait()
        await asyncio.sleep(0.002)
        return Ack()

    await bus.consume("work-publisher", [CHECKED], receive, 4)


async def main(name: str, action: str, count: int) -> None:
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))  # stdout is for the test
    if name.startswith("pubsub:"):
        bus = open_bus(name, os.environ["PUBSUB_EMULATOR_HOST"])
    else:
        bus = EmbeddedBus(Path(name), policy=DYING if action == "die" else POLICY)
    print_line("ready")
    if action == "publish":
        for number in range(count):
            await bus.publish([outgoing(str(number))])
        print_line("published")
        await asyncio.sleep(3_600)
    await consume(bus, action)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 0))
