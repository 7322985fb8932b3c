"""An emulator starts empty: what the bus needs is created there. In production nothing is ever created from here."""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping

import structlog
from google.api_core.exceptions import AlreadyExists
from google.pubsub_v1 import PublisherAsyncClient, SubscriberAsyncClient
from google.pubsub_v1.types import DeadLetterPolicy, ExpirationPolicy, Subscription, Topic

from aex_models.events import Topic as DeclaredTopic
from aex_runtime.bus.pubsub_topology import (
    SubscriptionSpec,
    subscription_path,
    subscription_specs,
    topic_ids,
    topic_path,
)

_log = structlog.get_logger(__name__)


async def create_missing(
    project: str,
    topics: Mapping[str, DeclaredTopic],
    publisher: PublisherAsyncClient,
    subscriber: SubscriberAsyncClient,
    timeout_s: float,
) -> None:
    """Create the topics and subscriptions that are not there. Raises Google's errors."""
    wanted = [Topic(name=topic_path(project, topic)) for topic in topic_ids(topics)]
    created = await _all(publisher.create_topic(topic, retry=None, timeout=timeout_s) for topic in wanted)
    specs = [_subscription(project, spec) for spec in subscription_specs(topics)]
    created += await _all(subscriber.create_subscription(spec, retry=None, timeout=timeout_s) for spec in specs)
    if created:
        _log.info("emulator_filled", project=project, created=created)


async def _all(creations: Iterable[Awaitable[object]]) -> int:
    """How many of them were not there yet."""
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
