"""A process of its own for the bus's tests: `python -m tests.bus.worker BUS consume|hang|publish [COUNT]`.

BUS is the directory of an embedded bus, or `pubsub://project` on the emulator that PUBSUB_EMULATOR_HOST names. It
prints what it does, one line each: `ready`, `got NAME`, `published`.
"""

import asyncio
import os
import sys
from datetime import timedelta
from pathlib import Path

import structlog

from aex_runtime.bus.consumption import Pace
from aex_runtime.bus.embedded import EmbeddedBus
from aex_runtime.bus.factory import open_bus
from aex_runtime.bus.port import Ack, Bus, Delivery, Disposition
from tests.bus.messages import CHECKED, name_of, outgoing

POLL_S = 600
VISIBILITY_S = 2


def say(line: str) -> None:
    """Tell the test."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def consume(bus: Bus, hang: bool) -> None:
    """Ack everything, or hang on to it."""

    async def receive(delivery: Delivery) -> Disposition:
        say(f"got {name_of(delivery)}")
        await asyncio.sleep(3_600 if hang else 0.002)
        return Ack()

    await bus.consume("work-publisher", [CHECKED], receive, 4)


def opened(bus: str) -> Bus:
    """The bus that the test named."""
    if bus.startswith("pubsub:"):
        return open_bus(bus, os.environ["PUBSUB_EMULATOR_HOST"])
    pace = Pace(poll=timedelta(seconds=POLL_S), visibility=timedelta(seconds=VISIBILITY_S))
    return EmbeddedBus(Path(bus), pace=pace)


async def main(name: str, what: str, count: int) -> None:
    """Do one thing."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))  # what it says to the test is its own
    bus = opened(name)
    say("ready")
    if what == "publish":
        for number in range(count):
            await bus.publish([outgoing(str(number))])
        say("published")
        await asyncio.sleep(3_600)
    await consume(bus, hang=what == "hang")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 0))
