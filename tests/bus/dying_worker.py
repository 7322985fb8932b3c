"""A consumer that some messages kill: `python -m tests.bus.dying_worker DIRECTORY`, on an embedded bus.

It prints `handled NAME` for each message that it dealt with.
"""

import asyncio
import os
import signal
import sys
from datetime import timedelta
from pathlib import Path

import structlog

from aex_runtime.bus.consumption import Pace
from aex_runtime.bus.embedded import EmbeddedBus
from aex_runtime.bus.port import Ack, Delivery, Disposition
from tests.bus.messages import CHECKED, name_of

KILLER = "killer"
PACE = Pace(poll=timedelta(seconds=0.1), visibility=timedelta(hours=1), patience=timedelta(seconds=1))


async def receive(delivery: Delivery) -> Disposition:
    """Ack in a moment; or die at once, with everything that is under way."""
    if name_of(delivery).startswith(KILLER):
        os.kill(os.getpid(), signal.SIGKILL)
    await asyncio.sleep(0.02)
    sys.stdout.write(f"handled {name_of(delivery)}\n")
    sys.stdout.flush()
    return Ack()


async def main(directory: Path) -> None:
    """Consume until killed."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    await EmbeddedBus(directory, pace=PACE).consume("work-publisher", [CHECKED], receive, 4)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
