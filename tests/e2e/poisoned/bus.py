"""The real bus, but for deliveries that kill their process."""

import os
import signal
from collections.abc import Sequence

from aex_runtime.bus.consumer import ConsumerPolicy
from aex_runtime.bus.port import Bus, Delivery, Disposition, Outgoing, Receiver

KILLING = "ctr_killing"


class DeadlyBus:
    """A bus that kills the process which receives an event about the named contract."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        await self._bus.publish(messages)

    async def consume(self, service: str, topics: Sequence[str], receive: Receiver, concurrency: int) -> None:
        async def receive_or_die(delivery: Delivery) -> Disposition:
            if delivery.died < ConsumerPolicy().max_died and delivery.message.attributes.get(
                "ce-subject", ""
            ).startswith(KILLING):
                os.kill(os.getpid(), signal.SIGKILL)
            return await receive(delivery)

        await self._bus.consume(service, topics, receive_or_die, concurrency)

    async def ping(self) -> None:
        await self._bus.ping()

    async def close(self) -> None:
        await self._bus.close()
