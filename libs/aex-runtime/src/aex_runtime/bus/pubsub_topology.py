"""The topics and subscriptions in Pub/Sub, and the attributes that the bus adds to messages.

On an emulator, which starts empty, the bus creates the topics and subscriptions. In production they are provisioned
from the same data.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

import structlog
from google.api_core.exceptions import AlreadyExists
from google.pubsub_v1 import PublisherAsyncClient, SubscriberAsyncClient
from google.pubsub_v1.types import DeadLetterPolicy, ExpirationPolicy, Subscription
from google.pubsub_v1.types import Topic as TopicMessage

from aex_models.events import Topic
from aex_runtime.bus.port import Message

DEAD_LETTERS = "aex.dead-letters"
"""Id of the topic, and of its subscription, for messages that killed every process.

All other dead letters are in the stores of the services, with a reason.
"""

ACK_DEADLINE = timedelta(seconds=10)
"""Time after which the message of a dead process is delivered again. A living consumer extends it."""

ADDRESSEE = "aex-to"
"""Attribute with the only service that a message is for; consumers of other services skip it."""
ATTEMPTS = "aex-attempts"
"""Attribute with the attempts that a message had used when a stopping consumer published it again."""
RESERVED = frozenset({ADDRESSEE, ATTEMPTS})
_MAX_DIGITS = 6
_log = structlog.get_logger(__name__)


def add_bus_attributes(message: Message, addressee: str | None, attempts: int = 0) -> Message:
    """Return the message with attributes for its addressee and its attempts; None and 0 add none."""
    attributes = {} if addressee is None else {ADDRESSEE: addressee}
    if attempts:
        attributes[ATTEMPTS] = str(attempts)
    return Message(message.attributes | attributes, message.data) if attributes else message


class SplitMessage(NamedTuple):
    """Message without the attributes of the bus, and the values of these."""

    message: Message
    addressee: str | None
    """The only service that the message is for; None for all subscribers."""
    attempts: int
    """Attempts used before the message was published again; 0 if the attribute is missing or invalid."""


def split_bus_attributes(attributes: Mapping[str, str], data: bytes) -> SplitMessage:
    """Separate the attributes of the bus from those of the message."""
    own = dict(attributes)
    addressee, attempts = own.pop(ADDRESSEE, None), own.pop(ATTEMPTS, "")
    is_count = attempts.isascii() and attempts.isdigit() and len(attempts) <= _MAX_DIGITS
    return SplitMessage(Message(own, data), addressee, int(attempts) if is_count else 0)


@dataclass(frozen=True, slots=True)
class SubscriptionSpec:
    """The settings of a subscription, which has no expiry, ordering, filter or retry policy.

    The consumer decides how long a failed message waits. A retry policy would add the server's own backoff (measured: 1
    s became 3 s, then more than 10 s).
    """

    id: str
    topic: str
    service: str | None
    """The consuming service; None for the subscription to dead letters, which operators read."""
    ack_deadline: timedelta = ACK_DEADLINE
    retention: timedelta = timedelta(days=7)
    dead_letter_topic: str | None = DEAD_LETTERS
    max_delivery_attempts: int = 100
    """Far above a consumer's limit. The server reports attempts only where there is a dead-letter topic."""


def subscription_id(topic: str, service: str) -> str:
    """Return the id of a service's subscription to a topic."""
    return f"{topic}.{service}"


def all_topic_ids(topics: Mapping[str, Topic]) -> tuple[str, ...]:
    """Return the ids of these topics and of the topic of dead letters."""
    return (*topics, DEAD_LETTERS)


def subscription_specs(topics: Mapping[str, Topic]) -> Iterator[SubscriptionSpec]:
    """Yield the specifications of all subscriptions; the subscription to the dead letters comes last."""
    for topic in topics.values():
        for service in topic.subscribers:
            yield SubscriptionSpec(subscription_id(topic.name, service), topic.name, service)
    yield SubscriptionSpec(DEAD_LETTERS, DEAD_LETTERS, None, dead_letter_topic=None)


def publishing_services(topic: Topic) -> tuple[str, ...]:
    """Return the services that need permission to publish to a topic.

    These are its publisher, and its subscribers, which publish messages again when they stop.
    """
    return tuple(dict.fromkeys((topic.publisher, *topic.subscribers)))


def readiness_topic(topics: Mapping[str, Topic]) -> str:
    """Return the topic that the readiness probe reads; every service needs permission to read it."""
    return next(iter(topics))


def topic_path(project: str, topic: str) -> str:
    """Return the resource name of a topic."""
    return f"projects/{project}/topics/{topic}"


def subscription_path(project: str, subscription: str) -> str:
    """Return the resource name of a subscription."""
    return f"projects/{project}/subscriptions/{subscription}"


async def create_missing_resources(
    project: str,
    topics: Mapping[str, Topic],
    publisher: PublisherAsyncClient,
    subscriber: SubscriberAsyncClient,
    timeout_s: float,
) -> None:
    """Create the topics and subscriptions that are missing. Raises Google's errors."""
    messages = [TopicMessage(name=topic_path(project, topic)) for topic in all_topic_ids(topics)]
    created = await _create(publisher.create_topic(each, retry=None, timeout=timeout_s) for each in messages)
    specs = [_subscription(project, spec) for spec in subscription_specs(topics)]
    created += await _create(subscriber.create_subscription(spec, retry=None, timeout=timeout_s) for spec in specs)
    if created:
        _log.info("emulator_resources_created", project=project, created=created)


async def _create(creations: Iterable[Awaitable[object]]) -> int:
    """Await the creations and return the number of new resources; existing ones are no error."""
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
