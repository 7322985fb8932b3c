"""What Pub/Sub has to hold for the declared topics: names and settings, as plain data.

An emulator is filled from it, and so is what provisions production: the two cannot drift apart.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from aex_models.events import Topic

DEAD_LETTERS = "aex.dead-letters"
"""The topic, and its one subscription, where the server puts what no process ever survived. Only the backstop: dead
letters with a reason are in the services' stores."""

ACK_DEADLINE = timedelta(seconds=10)
"""After how long a message of a dead process comes again; consumers extend it for what they hold."""


@dataclass(frozen=True, slots=True)
class SubscriptionSpec:
    """One subscription. It never expires, orders nothing and filters nothing.

    Nor has it a retry policy: how long a message that failed has to wait is the consumer's to say, and the server would
    add its own backoff to that (measured: 1 s became 3 s, then more than 10 s).
    """

    id: str
    topic: str
    service: str | None
    """The service that consumes it; None for the backstop, which people look into."""
    ack_deadline: timedelta = ACK_DEADLINE
    retention: timedelta = timedelta(days=7)
    """How long what nobody acks is kept."""
    dead_letter_topic: str | None = DEAD_LETTERS
    max_delivery_attempts: int = 100
    """Far above what a consumer allows. Without a dead-letter topic the server would not report attempts at all."""


def subscription_id(topic: str, service: str) -> str:
    """The id of a service's subscription to a topic."""
    return f"{topic}.{service}"


def topic_ids(topics: Mapping[str, Topic]) -> tuple[str, ...]:
    """The ids of all topics. A topic without subscribers is there too: users of the platform subscribe to it."""
    return (*topics, DEAD_LETTERS)


def subscription_specs(topics: Mapping[str, Topic]) -> Iterator[SubscriptionSpec]:
    """All subscriptions, the backstop's last."""
    for topic in topics.values():
        for service in topic.subscribers:
            yield SubscriptionSpec(subscription_id(topic.name, service), topic.name, service)
    yield SubscriptionSpec(DEAD_LETTERS, DEAD_LETTERS, None, dead_letter_topic=None)


def publishers(topic: Topic) -> tuple[str, ...]:
    """The services that must be allowed to publish to a topic: whose event it is, and those that consume it,
    for what one of these held when it is stopped goes back with the attempts that it has taken.
    """
    return tuple(dict.fromkeys((topic.publisher, *topic.subscribers)))


def probed_topic(topics: Mapping[str, Topic]) -> str:
    """The topic that readiness asks for: every service must be allowed to see it."""
    return next(iter(topics))


def topic_path(project: str, topic: str) -> str:
    """The full name of a topic."""
    return f"projects/{project}/topics/{topic}"


def subscription_path(project: str, subscription: str) -> str:
    """The full name of a subscription."""
    return f"projects/{project}/subscriptions/{subscription}"
