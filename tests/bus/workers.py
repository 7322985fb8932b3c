"""Processes that run `tests.bus.worker`."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from tests.bus.messages import TIMEOUT_S

ROOT = Path(__file__).parents[2]


class Worker:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        assert process.stdout is not None
        self._lines = process.stdout

    async def line(self) -> str:
        async with asyncio.timeout(TIMEOUT_S):
            return (await self._lines.readline()).decode().strip()

    async def kill(self) -> None:
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
        if process.returncode is None:
            await worker.kill()
