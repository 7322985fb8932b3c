import asyncio
import os
import signal
import sys
from datetime import timedelta
from pathlib import Path

import structlog

from aex_runtime.bus.consume_loop import ConsumePolicy
from aex_runtime.bus.embedded import EmbeddedBus
from aex_runtime.bus.port import Ack, Delivery, Disposition
from tests.bus.messages import CHECKED, name_of

KILLER = "killer"
POLICY = ConsumePolicy(poll=timedelta(seconds=0.1), visibility=timedelta(hours=1), isolation=timedelta(seconds=1))


async def receive(delivery: Delivery) -> Disposition:
    if name_of(delivery).startswith(KILLER):
        os.kill(os.getpid(), signal.SIGKILL)
    await asyncio.sleep(0.02)
    sys.stdout.write(f"handled {name_of(delivery)}\n")
    sys.stdout.flush()
    return Ack()


async def main(directory: Path) -> None:
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    await EmbeddedBus(directory, policy=POLICY).consume("work-publisher", [CHECKED], receive, 4)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
