"""The event bus: at least once, unordered. Topics and subscriptions are declared in `aex_models.events`."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol


class BusError(Exception):
    """The bus refused or failed."""


class BusUnavailable(BusError):
    """The bus cannot be reached. Worth a retry."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message on the wire: CloudEvents attributes and JSON data."""

    attributes: dict[str, str]
    data: bytes


@dataclass(frozen=True, slots=True)
class Delivery:
    """One delivery of a message. `attempt` starts at 1 and does not count deliveries that were given back.

    `died`: how many deliveries in a row, just before this one, had no end, most likely because their process died. 0
    where a bus cannot tell them from those that were never begun.
    """

    topic: str
    message: Message
    attempt: int
    died: int = 0


@dataclass(frozen=True, slots=True)
class Ack:
    """The message is dealt with."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Deliver it again, not before `delay`. Uncounted, it takes nothing from the message's attempts."""

    delay: timedelta
    counted: bool = True


Disposition = Ack | Retry
Receiver = Callable[[Delivery], Awaitable[Disposition]]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message and the topic that it goes to; with `subscriber`, to that service alone (a replayed dead letter)."""

    topic: str
    message: Message
    subscriber: str | None = None


class Bus(Protocol):
    """Publishes to topics and consumes a service's subscriptions."""

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        """Durable for every subscriber when it returns; raises `BusUnavailable`, and then may be repeated.

        Raises `BusError` for a topic or a subscriber that is not declared, or for a message that this bus cannot
        carry; then nothing is published.
        """
        ...

    async def consume(self, service: str, topics: Sequence[str], receive: Receiver, concurrency: int) -> None:
        """Deliver to `receive` until cancelled; a cancelled consumer finishes or gives back what it holds.

        A delivery that is neither acked nor retried (a crash) comes again after the visibility time-out, and counts as
        an attempt. One that was cut off twice in a row is suspected: it is delivered alone, after others had their
        turn, so that what kills its process takes down nothing else. An outage of the bus is waited out. Raises
        `BusError` for a topic that `service` does not subscribe to.
        """
        ...

    async def ping(self) -> None:
        """Return where the bus answers; raise `BusUnavailable` where it does not."""
        ...

    async def close(self) -> None:
        """Let go of files and connections."""
        ...
