import asyncio
import os
import sys
from datetime import timedelta
from pathlib import Path

import structlog

from aex_runtime.bus.consume_loop import ConsumePolicy
from aex_runtime.bus.embedded import EmbeddedBus
from aex_runtime.bus.factory import open_bus
from aex_runtime.bus.port import Ack, Bus, Delivery, Disposition
from tests.bus.messages import CHECKED, name_of, outgoing

POLL_S = 600
VISIBILITY_S = 2


def print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def consume(bus: Bus, hang: bool) -> None:
    async def receive(delivery: Delivery) -> Disposition:
        print_line(f"got {name_of(delivery)}")
        await asyncio.sleep(3_600 if hang else 0.002)
        return Ack()

    await bus.consume("work-publisher", [CHECKED], receive, 4)


def opened(bus: str) -> Bus:
    if bus.startswith("pubsub:"):
        return open_bus(bus, os.environ["PUBSUB_EMULATOR_HOST"])
    policy = ConsumePolicy(poll=timedelta(seconds=POLL_S), visibility=timedelta(seconds=VISIBILITY_S))
    return EmbeddedBus(Path(bus), policy=policy)


async def main(name: str, action: str, count: int) -> None:
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))  # stdout is for the test
    bus = opened(name)
    print_line("ready")
    if action == "publish":
        for number in range(count):
            await bus.publish([outgoing(str(number))])
        print_line("published")
        await asyncio.sleep(3_600)
    await consume(bus, hang=action == "hang")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 0))
