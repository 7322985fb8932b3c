"""The port of event buses: at-least-once delivery, in any order, of the topics in `aex_models.events`."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol, runtime_checkable

from aex_models.events import Topic


class BusError(Exception):
    """A refusal or a failure of the bus; base class of its errors."""


class BusUnavailable(BusError):
    """An outage of the bus. The caller may retry."""


@dataclass(frozen=True, slots=True)
class Message:
    """An encoded event: the attributes of CloudEvents, and its data as JSON."""

    attributes: dict[str, str]
    data: bytes


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery of a message to a consumer."""

    topic: str
    message: Message
    attempt: int
    """Number of this attempt, from 1. Released deliveries are not counted."""
    died: int = 0
    """Consecutive deliveries just before this one without ack or nack, probably because the process died.

    0 on a bus that does not know.
    """


@dataclass(frozen=True, slots=True)
class Ack:
    """A disposition: the message is handled, and the bus deletes it."""


@dataclass(frozen=True, slots=True)
class Retry:
    """A disposition: the bus delivers the message again after `delay`.

    Without `counted` this delivery does not count as an attempt.
    """

    delay: timedelta
    counted: bool = True


Disposition = Ack | Retry
Receiver = Callable[[Delivery], Awaitable[Disposition]]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message to publish to a topic.

    With `subscriber` only the service of that name gets it, for example when a dead letter is replayed.
    """

    topic: str
    message: Message
    subscriber: str | None = None


class Bus(Protocol):
    """Publishes messages to topics and delivers them to the services that subscribe."""

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        """Publish messages durably for every subscriber.

        Raises `BusUnavailable`; some may then be published, and the caller may repeat all. Raises `BusError`, and
        publishes nothing, for an undeclared topic, for another subscriber, and for a message that this bus cannot
        carry.
        """

    async def consume(self, service: str, topics: Sequence[str], receive: Receiver, concurrency: int) -> None:
        """Deliver the messages of some topics of a service to `receive`, until cancelled.

        At most `concurrency` run at once. A cancelled consumer finishes or releases its messages. After a crash a
        message is delivered again after the visibility time-out, and the lost delivery counts as an attempt. A message
        whose consumer died twice in a row is a suspect: it is delivered alone, so that it ends no other work. Outages
        are waited out. Raises `BusError` for a topic to which `service` does not subscribe.
        """

    async def ping(self) -> None:
        """Return if the bus answers within a few seconds; else raise `BusUnavailable`."""

    async def close(self) -> None:
        """Close files and connections."""


def route_to_subscribers(
    topics: Mapping[str, Topic], messages: Sequence[Outgoing]
) -> dict[str, list[tuple[str, Message]]]:
    """Return the pairs of topic and message for each subscribing service.

    Raises `BusError` for an undeclared topic, and for a named subscriber that does not subscribe to it.
    """
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


def check_subscriptions(topics: Mapping[str, Topic], service: str, names: Sequence[str]) -> None:
    """Raise `BusError` for a topic that is not declared, or to which `service` does not subscribe."""
    for name in names:
        if name not in topics:
            raise BusError(f"{name} is not a declared topic")
        if service not in topics[name].subscribers:
            raise BusError(f"{service} does not subscribe to {name}")


@runtime_checkable
class ReportsQueueAge(Protocol):
    """A bus that can read the ages of its messages.

    The Pub/Sub bus cannot. Google's metric `subscription/oldest_unacked_message_age` shows that age.
    """

    async def oldest_unacked_age_s(self, service: str) -> float:
        """Return the age in seconds of the oldest message that `service` has not acked; 0 if there is none.

        Delayed messages and deliveries in progress count. Raises `BusUnavailable`.
        """
