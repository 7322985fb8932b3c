"""Processes that run `tests.bus.worker`."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from tests.bus.messages import PATIENCE_S

ROOT = Path(__file__).parents[2]


class Worker:
    """A process that runs `tests.bus.worker`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        assert process.stdout is not None
        self._lines = process.stdout

    async def line(self) -> str:
        """The next thing it says."""
        async with asyncio.timeout(PATIENCE_S):
            return (await self._lines.readline()).decode().strip()

    async def kill(self) -> None:
        """SIGKILL: it has no chance to clean up."""
        self.process.kill()
        await self.process.wait()

    async def got(self) -> list[str]:
        """Kill it, and read which messages it said it got."""
        await self.kill()
        said = (await self._lines.read()).decode().split("\n")
        return [line.removeprefix("got ") for line in said if line.startswith("got ")]


@asynccontextmanager
async def working(bus: str, *arguments: str, environment: Mapping[str, str] | None = None) -> AsyncIterator[Worker]:
    """A worker on a bus, once it is ready; killed in the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.bus.worker",
        bus,
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
    )
    worker = Worker(process)
    try:
        assert await worker.line() == "ready"
        yield worker
    finally:
        if process.returncode is None:
            await worker.kill()
