"""Messages and receivers for the bus's tests."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from aex_runtime.bus.port import Ack, Bus, Delivery, Disposition, Message, Outgoing, Receiver

CHECKED = "work.checked"
"""Topic with one subscriber: work-publisher."""
VERIFIED = "outcome.verified"
"""Three subscribers: governance, settlement, work-publisher."""
TIMEOUT_S = 60.0
"""Time limit of a wait; longer than any loaded machine needs."""


def outgoing(name: str, topic: str = CHECKED, subscriber: str | None = None, data: bytes = b"{}") -> Outgoing:
    return Outgoing(topic, Message({"ce-id": name}, data), subscriber)


def name_of(delivery: Delivery) -> str:
    return delivery.message.attributes["ce-id"]


class Recorder:
    """A receiver that handles each delivery for `takes` and until `gate` is set, then answers."""

    def __init__(
        self, *answers: Disposition, takes: timedelta = timedelta(), gate: asyncio.Event | None = None
    ) -> None:
        self.deliveries: list[Delivery] = []
        self.times: list[float] = []
        self.running = 0
        self.most_running = 0
        self._answers = list(answers)
        self._takes_s = takes.total_seconds()
        self._gate = gate

    async def __call__(self, delivery: Delivery) -> Disposition:
        self.deliveries.append(delivery)
        self.times.append(asyncio.get_running_loop().time())
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await asyncio.sleep(self._takes_s)
            if self._gate is not None:
                await self._gate.wait()
        finally:
            self.running -= 1
        return self._answers.pop(0) if self._answers else Ack()

    @property
    def names(self) -> list[str]:
        return [name_of(delivery) for delivery in self.deliveries]

    async def got(self, count: int) -> None:
        await eventually(lambda: len(self.deliveries) >= count)


def hangs() -> Recorder:
    """Return a receiver that never finishes."""
    return Recorder(gate=asyncio.Event())


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(TIMEOUT_S):
        while not condition():  # noqa: ASYNC110 conditions are plain functions of the state
            await asyncio.sleep(0.005)


async def stop(task: "asyncio.Task[None]") -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@asynccontextmanager
async def consuming(
    bus: Bus, service: str, receive: Receiver, topics: Sequence[str] = (CHECKED,), concurrency: int = 4
) -> AsyncIterator["asyncio.Task[None]"]:
    task = asyncio.create_task(bus.consume(service, topics, receive, concurrency))
    try:
        yield task
    finally:
        await stop(task)
