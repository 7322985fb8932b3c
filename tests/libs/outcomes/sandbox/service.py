"""A process that has the sandbox, as a service has: `python -m tests.libs.outcomes.sandbox.service`.

Prints a line once it runs code whose one operation never ends, and goes on until it is killed.
"""

import asyncio
import dataclasses
import sys

from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.sandbox.port import Limits

RUN = "aex_outcomes.sandbox.jobs:run_code"
ENDLESS = "def evaluate(i, o, m): return 7 ** 100_000_000 % 2"


async def _wait() -> None:
    async with WorkerPool(1, 600, 1_024, jobs=[RUN], spares=0, children=True) as pool:
        limits = dataclasses.asdict(Limits(timeout_ms=300_000))
        job = asyncio.create_task(pool.run(RUN, {"code": ENDLESS, "context": "[{}, {}, {}]", "limits": limits}))
        await asyncio.sleep(0.5)
        sys.stdout.write("it runs\n")
        sys.stdout.flush()
        await job


if __name__ == "__main__":
    asyncio.run(_wait())
