"""The event bus: at-least-once delivery, unordered, of the topics declared in `aex_models.events`."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol, runtime_checkable

from aex_models.events import Topic


class BusError(Exception):
    """A refusal or failure of the bus."""


class BusUnavailable(BusError):
    """An outage of the bus. Worth a retry."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message on the wire: CloudEvents attributes and JSON data."""

    attributes: dict[str, str]
    data: bytes


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery of a message. `attempt` starts at 1 and does not count released deliveries.

    `died`: the number of deliveries directly before this one without an ack or nack, probably because their process
    died. 0 for a bus that does not know.
    """

    topic: str
    message: Message
    attempt: int
    died: int = 0


@dataclass(frozen=True, slots=True)
class Ack:
    """The end of a message."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Another delivery after `delay`. Uncounted, it is no attempt."""

    delay: timedelta
    counted: bool = True


Disposition = Ack | Retry
Receiver = Callable[[Delivery], Awaitable[Disposition]]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message and its topic; with `subscriber`, for that service alone (a replayed dead letter)."""

    topic: str
    message: Message
    subscriber: str | None = None


class Bus(Protocol):
    """Publishes to topics and consumes a service's subscriptions."""

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        """Publish durably for every subscriber. Raises `BusUnavailable`; then it may be repeated.

        Raises `BusError` for an undeclared topic or subscriber, and for a message that this bus cannot carry; then
        nothing is published.
        """

    async def consume(self, service: str, topics: Sequence[str], receive: Receiver, concurrency: int) -> None:
        """Deliver to `receive` until cancelled; a cancelled consumer finishes or releases its messages.

        After a crash the message is delivered again after the visibility time-out, which counts as an attempt. A
        message whose consumer died twice in a row is a suspect. It is delivered alone, after other messages, so that
        a message that kills its process ends no other work. Outages of the bus are waited out.
        Raises `BusError` for a topic that `service` does not subscribe to.
        """

    async def ping(self) -> None:
        """Return if the bus answers; raise `BusUnavailable` if not."""

    async def close(self) -> None:
        """Close files and connections."""


def route(topics: Mapping[str, Topic], messages: Sequence[Outgoing]) -> dict[str, list[tuple[str, Message]]]:
    """Return the (topic, message) pairs of each subscriber. Raises `BusError` for undeclared names."""
    queues: dict[str, list[tuple[str, Message]]] = {}
    for outgoing in messages:
        topic = topics.get(outgoing.topic)
        if topic is None:
            raise BusError(f"{outgoing.topic} is not a declared topic")
        if outgoing.subscriber is not None and outgoing.subscriber not in topic.subscribers:
            raise BusError(f"{outgoing.subscriber} does not subscribe to {outgoing.topic}")
        for subscriber in (outgoing.subscriber,) if outgoing.subscriber else topic.subscribers:
            queues.setdefault(subscriber, []).append((outgoing.topic, outgoing.message))
    return queues


def check_subscription(topics: Mapping[str, Topic], service: str, names: Sequence[str]) -> None:
    """Raise `BusError` for a topic that is not declared, or that `service` does not subscribe to."""
    for name in names:
        if name not in topics:
            raise BusError(f"{name} is not a declared topic")
        if service not in topics[name].subscribers:
            raise BusError(f"{service} does not subscribe to {name}")


@runtime_checkable
class ReportsQueueAge(Protocol):
    """A bus that can read its queues. For Pub/Sub, see Google's `subscription/oldest_unacked_message_age`."""

    async def oldest_unhandled_s(self, service: str) -> float:
        """Return the age in seconds of the oldest event that `service` has not acked; 0 if there is none.

        Deliveries in progress and delayed events count. Raises `BusUnavailable`.
        """
