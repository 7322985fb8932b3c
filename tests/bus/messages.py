"""Messages and receivers for the bus's tests."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from aex_runtime.bus.port import Ack, Bus, Delivery, Disposition, Message, Outgoing, Receiver

CHECKED = "work.checked"
"""One subscriber: work-publisher."""
VERIFIED = "outcome.verified"
"""Three subscribers: governance, settlement, work-publisher."""
PATIENCE_S = 20.0
"""How long a test waits for what must happen; longer than any loaded machine needs."""


def outgoing(name: str, topic: str = CHECKED, subscriber: str | None = None, data: bytes = b"{}") -> Outgoing:
    """A message that is known by its name."""
    return Outgoing(topic, Message({"ce-id": name}, data), subscriber)


def name_of(delivery: Delivery) -> str:
    """The name that a message was published under."""
    return delivery.message.attributes["ce-id"]


class Recorder:
    """A receiver that remembers its deliveries and answers as it is told: each answer once, then acks."""

    def __init__(self, *answers: Disposition, takes: timedelta = timedelta()) -> None:
        self.deliveries: list[Delivery] = []
        self.times: list[float] = []
        self.running = 0
        self.most_running = 0
        self._answers = list(answers)
        self._takes_s = takes.total_seconds()

    async def __call__(self, delivery: Delivery) -> Disposition:
        self.deliveries.append(delivery)
        self.times.append(asyncio.get_running_loop().time())
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await asyncio.sleep(self._takes_s)
        finally:
            self.running -= 1
        return self._answers.pop(0) if self._answers else Ack()

    @property
    def names(self) -> list[str]:
        """What was delivered, in order."""
        return [name_of(delivery) for delivery in self.deliveries]

    async def got(self, count: int) -> None:
        """Wait until that many deliveries came."""
        await eventually(lambda: len(self.deliveries) >= count)


def hanging(started: list[str]) -> Receiver:
    """A receiver that notes what it got and never ends."""

    async def receive(delivery: Delivery) -> Disposition:
        started.append(name_of(delivery))
        await asyncio.Event().wait()
        raise AssertionError("nobody sets this event")

    return receive


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds; fail loudly where it never does."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 conditions are plain functions of the state
            await asyncio.sleep(0.005)


async def stop(task: "asyncio.Task[None]") -> None:
    """Cancel a task and wait until it has ended."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@asynccontextmanager
async def consuming(
    bus: Bus, service: str, receive: Receiver, topics: Sequence[str] = (CHECKED,), concurrency: int = 4
) -> AsyncIterator["asyncio.Task[None]"]:
    """A consumer that runs for the length of the block."""
    task = asyncio.create_task(bus.consume(service, topics, receive, concurrency))
    try:
        yield task
    finally:
        await stop(task)
