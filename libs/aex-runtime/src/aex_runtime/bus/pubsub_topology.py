"""Pub/Sub resources of the declared topics, and the bus's own attributes of messages.

An emulator starts empty, and the bus creates them there. Production is provisioned from the same data.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

import structlog
from google.api_core.exceptions import AlreadyExists
from google.pubsub_v1 import PublisherAsyncClient, SubscriberAsyncClient
from google.pubsub_v1.types import DeadLetterPolicy, ExpirationPolicy, Subscription
from google.pubsub_v1.types import Topic as TopicMessage

from aex_models.events import Topic
from aex_runtime.bus.port import Message

DEAD_LETTERS = "aex.dead-letters"
"""The topic, and its subscription, of messages that no process survived. Dead letters with a reason are in the
services' stores."""

ACK_DEADLINE = timedelta(seconds=10)
"""Time after which a message of a dead process is delivered again; consumers extend it."""

ADDRESSEE = "aex-to"
"""The attribute with the only service that the message is for; consumers of others skip it."""
ATTEMPTS = "aex-attempts"
"""The attribute with the attempts of a message that a stopped consumer published again."""
RESERVED = frozenset({ADDRESSEE, ATTEMPTS})
_MAX_DIGITS = 6
_log = structlog.get_logger(__name__)


def add_bus_attributes(message: Message, addressee: str | None, attempts: int = 0) -> Message:
    """Return the message with the bus's own attributes."""
    attributes = {} if addressee is None else {ADDRESSEE: addressee}
    if attempts:
        attributes[ATTEMPTS] = str(attempts)
    return Message(message.attributes | attributes, message.data) if attributes else message


def split_bus_attributes(attributes: Mapping[str, str], data: bytes) -> tuple[Message, str | None, int]:
    """Return the message without the bus's attributes, its addressee and attempts; 0 if invalid."""
    own = dict(attributes)
    addressee, attempts = own.pop(ADDRESSEE, None), own.pop(ATTEMPTS, "")
    is_count = attempts.isascii() and attempts.isdigit() and len(attempts) <= _MAX_DIGITS
    return (Message(own, data), addressee, int(attempts) if is_count else 0)


@dataclass(frozen=True, slots=True)
class SubscriptionSpec:
    """A subscription, without expiry, order and filter.

    It has no retry policy: the consumer decides the wait of a failed message. The server would add its own backoff
    (measured: 1 s became 3 s, then more than 10 s).
    """

    id: str
    topic: str
    service: str | None
    """The consuming service; None for the dead letters, which operators read."""
    ack_deadline: timedelta = ACK_DEADLINE
    retention: timedelta = timedelta(days=7)
    dead_letter_topic: str | None = DEAD_LETTERS
    max_delivery_attempts: int = 100
    """Far above a consumer's limit. Without a dead-letter topic the server would report no attempts."""


def subscription_id(topic: str, service: str) -> str:
    """Return the id of a service's subscription to a topic."""
    return f"{topic}.{service}"


def topic_ids(topics: Mapping[str, Topic]) -> tuple[str, ...]:
    """Return the ids of all topics, also of those to which only users of the platform subscribe."""
    return (*topics, DEAD_LETTERS)


def subscription_specs(topics: Mapping[str, Topic]) -> Iterator[SubscriptionSpec]:
    """Yield all subscriptions, that of the dead letters last."""
    for topic in topics.values():
        for service in topic.subscribers:
            yield SubscriptionSpec(subscription_id(topic.name, service), topic.name, service)
    yield SubscriptionSpec(DEAD_LETTERS, DEAD_LETTERS, None, dead_letter_topic=None)


def publishers(topic: Topic) -> tuple[str, ...]:
    """Return a topic's publisher and its consumers, which publish messages again when they stop."""
    return tuple(dict.fromkeys((topic.publisher, *topic.subscribers)))


def probed_topic(topics: Mapping[str, Topic]) -> str:
    """Return the topic of the readiness probe, which every service must be permitted to read."""
    return next(iter(topics))


def topic_path(project: str, topic: str) -> str:
    """Return the full name of a topic."""
    return f"projects/{project}/topics/{topic}"


def subscription_path(project: str, subscription: str) -> str:
    """Return the full name of a subscription."""
    return f"projects/{project}/subscriptions/{subscription}"


async def create_missing(
    project: str,
    topics: Mapping[str, Topic],
    publisher: PublisherAsyncClient,
    subscriber: SubscriberAsyncClient,
    timeout_s: float,
) -> None:
    """Create the missing topics and subscriptions. Raises Google's errors."""
    messages = [TopicMessage(name=topic_path(project, topic)) for topic in topic_ids(topics)]
    created = await _create(publisher.create_topic(each, retry=None, timeout=timeout_s) for each in messages)
    specs = [_subscription(project, spec) for spec in subscription_specs(topics)]
    created += await _create(subscriber.create_subscription(spec, retry=None, timeout=timeout_s) for spec in specs)
    if created:
        _log.info("emulator_resources_created", project=project, created=created)


async def _create(creations: Iterable[Awaitable[object]]) -> int:
    """Await the creations; return the number of new resources."""
    results = await asyncio.gather(*creations, return_exceptions=True)
    failures = [each for each in results if isinstance(each, BaseException) and not isinstance(each, AlreadyExists)]
    if failures:
        raise failures[0]
    return sum(not isinstance(each, AlreadyExists) for each in results)


def _subscription(project: str, spec: SubscriptionSpec) -> Subscription:
    dead_letters = spec.dead_letter_topic and DeadLetterPolicy(
        dead_letter_topic=topic_path(project, spec.dead_letter_topic), max_delivery_attempts=spec.max_delivery_attempts
    )
    return Subscription(
        name=subscription_path(project, spec.id),
        topic=topic_path(project, spec.topic),
        ack_deadline_seconds=int(spec.ack_deadline.total_seconds()),
        message_retention_duration=spec.retention,
        expiration_policy=ExpirationPolicy(),  # without a time to live: never
        dead_letter_policy=dead_letters or None,
    )
