import asyncio
import contextlib
import json
import os
import sys
from pathlib import Path

import psutil

from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.confinement.settings import JobTimeout

JOBS = "tests.libs.outcomes.confinement.jobs:"


def children_of(pid: int) -> set[int]:
    """Process ids of a process's children, by the kernel's own list."""
    return {int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()}


def confined_children() -> list[psutil.Process]:
    found = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended since
            if "confinement" in " ".join(child.cmdline()):
                found.append(child)
    return found


def _say(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


async def _wait() -> None:
    async with WorkerPool(2, jobs=[JOBS + "native", JOBS + "loop"]) as pool:
        jobs = [
            asyncio.create_task(pool.run(JOBS + "native", {"power": 10**9}, timeout_s=600)),
            asyncio.create_task(pool.run(JOBS + "loop", {}, timeout_s=600)),
        ]
        await asyncio.sleep(0.2)
        _say({"workers": sorted(children_of(os.getpid()))})
        await asyncio.gather(*jobs)


async def _try() -> None:
    async with WorkerPool(1, jobs=[JOBS + name for name in ("surroundings", "attempt", "loop", "echo")]) as pool:
        feedback = await pool.run(JOBS + "surroundings", {})
        with contextlib.suppress(JobTimeout):
            await pool.run(JOBS + "loop", {}, timeout_s=0.2)
        refused = {
            what: (await pool.run(JOBS + "attempt", {"what": what}))["errno"]
            for what in ("fork", "socket", "look at the service", "more memory")
        }
        _say({"surroundings": feedback, "refused": refused, "echo": await pool.run(JOBS + "echo", {"after": "a kill"})})


if __name__ == "__main__":
    asyncio.run({"wait": _wait, "try": _try}[sys.argv[1]]())
