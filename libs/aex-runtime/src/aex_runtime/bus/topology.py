"""Who gets what: the checks that every backend makes before it publishes or consumes."""

from collections.abc import Mapping, Sequence

from aex_models.events import Topic
from aex_runtime.bus.port import BusError, Message, Outgoing


def route(topics: Mapping[str, Topic], messages: Sequence[Outgoing]) -> dict[str, list[tuple[str, Message]]]:
    """For each subscriber the (topic, message) pairs that it is to get. Raises `BusError` for what is not declared."""
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


def check_subscription(topics: Mapping[str, Topic], service: str, wanted: Sequence[str]) -> None:
    """Raise `BusError` for a topic that is not declared, or that `service` does not subscribe to."""
    for name in wanted:
        if name not in topics:
            raise BusError(f"{name} is not a declared topic")
        if service not in topics[name].subscribers:
            raise BusError(f"{service} does not subscribe to {name}")
