"""From a delivery to a handler and back: every message ends in an ack, a retry or a dead letter."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from pydantic import ValidationError
from structlog.contextvars import bound_contextvars

from aex_models.backoff import Backoff
from aex_models.events import TOPICS, Event, Topic, UnreadableEvent
from aex_runtime.blobs.port import BlobUnavailable
from aex_runtime.bus.measures import DEAD, HANDLED, RETRIED, WAITING, EventMeasures
from aex_runtime.bus.port import Ack, Bus, BusUnavailable, Delivery, Disposition, Retry
from aex_runtime.bus.wire import Undecodable, decode, describe
from aex_runtime.clock import Clock
from aex_runtime.deadletters import DeadLetters
from aex_runtime.errors import RateLimited, TemporarilyUnavailable
from aex_runtime.failures import describe_failure
from aex_runtime.handlers import EventHandler, Poison, RetryLater
from aex_runtime.ids import Ids
from aex_runtime.log_context import log_context
from aex_runtime.measures import UNMEASURED, Measures
from aex_runtime.redaction import describe as describe_exception
from aex_runtime.store.port import StoreUnavailable
from aex_runtime.store.table import RecordOfNewerVersion
from aex_runtime.telemetry import describe_span, failed
from aex_runtime.tracing.messages import MessageSpans

OUTAGES = (
    StoreUnavailable,
    RecordOfNewerVersion,
    BusUnavailable,
    BlobUnavailable,
    TemporarilyUnavailable,
    RateLimited,
)
"""Not the message's fault: tried again for as long as it takes, and never counted."""

_BACKOFF = Backoff(first=timedelta(milliseconds=500), cap=timedelta(minutes=2))
_OUTAGE = Backoff(first=timedelta(milliseconds=500), cap=timedelta(seconds=15))
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ConsumerPolicy:
    """How many at a time, how often, how patiently."""

    concurrency: int = 16
    max_deliveries: int = 12
    """Before a message whose handler fails goes to the dead letters."""
    max_unended: int = 30
    """Deliveries before a message is not given to its handler any more. More of them, for those that nobody saw fail
    may have ended with a process that another message took down."""
    max_died: int = 5
    """Deliveries in a row that were cut off, where the bus can tell: the last of them were alone. As many deaths in a
    minute as a suite puts up with."""
    backoff: Backoff = _BACKOFF
    outage: Backoff = _OUTAGE
    """For what is not the message's fault."""


class Consumer:
    """Runs a service's event handlers."""

    def __init__(
        self,
        service: str,
        bus: Bus,
        dead_letters: DeadLetters,
        clock: Clock,
        ids: Ids,
        subscriptions: Mapping[str, EventHandler],
        *,
        policy: ConsumerPolicy | None = None,
        spans: MessageSpans | None = None,
        topics: Mapping[str, Topic] = TOPICS,
        measures: Measures = UNMEASURED,
    ) -> None:
        """`subscriptions`: the handler of each topic."""
        self._service = service
        self._bus = bus
        self._dead_letters = dead_letters
        self._clock = clock
        self._ids = ids
        self._subscriptions = dict(subscriptions)
        self._policy = policy or ConsumerPolicy()
        self._spans = spans or MessageSpans(service)
        self._topics = topics
        self._measures, self._of = measures, EventMeasures(subscriptions)
        self._outages = 0
        self._failing_since: datetime | None = None

    async def run(self) -> None:
        """Consume until cancelled. Raises `BusError` for a topic that the service does not subscribe to."""
        await self._bus.consume(self._service, sorted(self._subscriptions), self.receive, self._policy.concurrency)

    def failing_s(self) -> float:
        """For how long events have only failed, in seconds; 0 where the last was handled, or is a dead letter."""
        since = self._failing_since
        return 0.0 if since is None else max(0.0, (self._clock.now() - since).total_seconds())

    async def receive(self, delivery: Delivery) -> Disposition:
        """Deal with one delivery. Raises nothing but cancellation."""
        try:
            event = decode(delivery.message)
        except Undecodable as error:
            return await self._bury(delivery, f"undecodable: {error}", None)
        with (
            bound_contextvars(event_id=event.id, event_type=event.type, **log_context(event.subject, event.data)),
            self._spans.processing(event, delivery.attempt),
        ):
            problem = self._check(delivery, event)
            return await (self._bury(delivery, problem, event) if problem else self._handle(delivery, event))

    def _check(self, delivery: Delivery, event: Event) -> str | None:
        """Why no handler is to see this event; None where one is."""
        if event.type != delivery.topic:
            return "ce-type is not the topic"
        if event.type not in self._topics or event.type not in self._subscriptions:
            return "nobody here handles this type"
        try:
            # Fields that a newer publisher added are no reason to refuse: see `aex_models.events.read_data`.
            self._topics[event.type].data.model_validate(event.data, extra="ignore")
        except ValidationError as error:
            return f"data: {describe(error)}"
        if delivery.attempt > self._policy.max_unended:  # handlers that took their process down with them
            return f"{delivery.attempt - 1} deliveries had no end"
        if delivery.died >= self._policy.max_died:
            return f"{delivery.died} deliveries in a row were cut off: its handler kills the process"
        return None

    async def _handle(self, delivery: Delivery, event: Event) -> Disposition:
        started = time.perf_counter()
        try:
            await self._subscriptions[event.type](event)
        except Poison as poison:
            return await self._bury(delivery, poison.reason, event)
        except UnreadableEvent as unreadable:
            return await self._bury(delivery, str(unreadable), event)
        except OUTAGES as error:
            return self._wait_out(delivery.topic, describe_failure(error))
        except RetryLater as later:
            return await self._retry(delivery, event, later.reason, later.delay)
        except Exception as error:  # noqa: BLE001 one event must not stop the others
            delay = self._policy.backoff.delay(delivery.attempt, self._ids.jitter())
            _log.warning("event_failed", attempt=delivery.attempt, failure=describe_exception(error))
            return await self._retry(delivery, event, describe_failure(error), delay)
        self._outages, self._failing_since = 0, None
        took_s, age_s = time.perf_counter() - started, (self._clock.now() - event.time).total_seconds()
        self._measures.count(self._of.deliveries, event.type, HANDLED)
        self._measures.observe(self._of.handling, took_s, event.type)
        self._measures.observe(self._of.age, age_s, event.type)
        took_ms, age_ms = round(took_s * 1_000, 1), round(age_s * 1_000, 1)
        _log.debug("event_handled", attempt=delivery.attempt, took_ms=took_ms, age_ms=age_ms)
        return Ack()

    async def _retry(self, delivery: Delivery, event: Event, reason: str, delay: timedelta) -> Disposition:
        if delivery.attempt >= self._policy.max_deliveries:
            return await self._bury(delivery, f"gave up after {delivery.attempt} deliveries: {reason}", event)
        self._failing_since = self._failing_since or self._clock.now()
        self._measures.count(self._of.deliveries, event.type, RETRIED)
        _tell(RETRIED)
        _log.warning("event_retried", reason=reason, attempt=delivery.attempt, retry_in_s=delay.total_seconds())
        return Retry(delay)

    def _wait_out(self, topic: str, reason: str) -> Disposition:
        """An outage: again later, uncounted, the slower the longer it lasts."""
        self._outages += 1
        self._failing_since = self._failing_since or self._clock.now()
        delay = self._policy.outage.delay(self._outages, self._ids.jitter())
        self._measures.count(self._of.deliveries, topic, WAITING)
        _tell(WAITING)
        _log.warning("event_waits_for_outage", reason=reason, retry_in_s=delay.total_seconds())
        return Retry(delay, counted=False)

    async def _bury(self, delivery: Delivery, reason: str, event: Event | None) -> Disposition:
        """To the dead letters, then ack; while those cannot be written, the message stays with the bus."""
        event_id, subject = (event.id, event.subject) if event else (None, None)
        try:
            await self._dead_letters.record(delivery.topic, delivery.message, reason, event_id, subject)
        except Exception as error:  # noqa: BLE001 a message that cannot be buried must not be lost
            return self._wait_out(delivery.topic, f"dead letter not written: {describe_failure(error)}")
        self._failing_since = None
        self._measures.count(self._of.deliveries, delivery.topic, DEAD)
        _tell(DEAD)
        return Ack()


def _tell(disposition: str) -> None:
    """In the span of a message that was not handled: what became of it."""
    describe_span({"aex.disposition": disposition})
    failed(disposition)
