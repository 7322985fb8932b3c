"""A process of its own for the bus's tests: `python -m tests.bus.worker DIRECTORY consume|hang|publish [COUNT]`.

It prints what it does, one line each: `ready`, `got NAME`, `published`.
"""

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

from aex_runtime.bus.consumption import Pace
from aex_runtime.bus.embedded import EmbeddedBus
from aex_runtime.bus.port import Ack, Delivery, Disposition
from tests.bus.messages import CHECKED, name_of, outgoing

POLL_S = 600
VISIBILITY_S = 2


def say(line: str) -> None:
    """Tell the test."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def consume(bus: EmbeddedBus, hang: bool) -> None:
    """Ack everything, or hang on to it."""

    async def receive(delivery: Delivery) -> Disposition:
        say(f"got {name_of(delivery)}")
        await asyncio.sleep(3_600 if hang else 0.002)
        return Ack()

    await bus.consume("work-publisher", [CHECKED], receive, 4)


async def main(directory: Path, what: str, count: int) -> None:
    """Do one thing."""
    pace = Pace(poll=timedelta(seconds=POLL_S), visibility=timedelta(seconds=VISIBILITY_S))
    bus = EmbeddedBus(directory, pace=pace)
    say("ready")
    if what == "publish":
        for number in range(count):
            await bus.publish([outgoing(str(number))])
        say("published")
        await asyncio.sleep(3_600)
    await consume(bus, hang=what == "hang")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 0))
