"""The consumer of a service: it handles events and decides between ack, retry and dead letter."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import structlog
from pydantic import ValidationError
from structlog.contextvars import bound_contextvars

from aex_models.backoff import Backoff
from aex_models.events import TOPICS, Event, UnreadableEvent
from aex_runtime.blobs.port import BlobUnavailable
from aex_runtime.bus.dataref import EventData, EventDataLost
from aex_runtime.bus.port import Ack, Bus, BusUnavailable, Delivery, Disposition, Retry
from aex_runtime.bus.wire import Undecodable, decode_event, describe_validation_error
from aex_runtime.clock import Clock
from aex_runtime.deadletters import DeadLetters
from aex_runtime.errors import RateLimited, TemporarilyUnavailable
from aex_runtime.ids import Ids
from aex_runtime.logs import describe_failure, exception_chain, log_context
from aex_runtime.measures import LONG_S, UNMEASURED, CounterSpec, HistogramSpec, Measures, Spec
from aex_runtime.records import EventHandler, Poison, RetryLater
from aex_runtime.retry import Retries
from aex_runtime.store.port import StoreUnavailable
from aex_runtime.store.table import RecordOfNewerVersion
from aex_runtime.telemetry import add_span_attributes, mark_span_failed
from aex_runtime.tracing.spans import MessageSpans

HANDLED, RETRIED, WAITING, DEAD = RESULTS = ("handled", "retried", "waiting", "dead_letter")
"""The results of a delivery. `retried`: it failed, which counts as an attempt; `waiting`: an outage, which does not."""


class EventMeasures:
    """The metrics of a service's deliveries, by topic; topics that it does not subscribe to are `other`."""

    def __init__(self, topics: Iterable[str]) -> None:
        labels = {"topic": tuple(sorted(topics))}
        self.deliveries = CounterSpec(
            "aex_event_deliveries_total", "Deliveries of events, by their result", {**labels, "result": RESULTS}
        )
        self.age = HistogramSpec(
            "aex_event_age_seconds", "Time from an event's commit until it was handled", labels, LONG_S
        )
        self.handling = HistogramSpec("aex_event_handling_seconds", "Duration of an event's handler", labels)

    def specs(self) -> tuple[Spec, ...]:
        """Return the specifications of all three metrics."""
        return self.deliveries, self.age, self.handling


OUTAGES = (StoreUnavailable, RecordOfNewerVersion, BusUnavailable, BlobUnavailable, TemporarilyUnavailable, RateLimited)
"""Errors that are no fault of the message. Its deliveries are repeated without limit and are not counted."""

_BACKOFF = Backoff(first=timedelta(milliseconds=500), cap=timedelta(minutes=2))
_OUTAGE = Backoff(first=timedelta(milliseconds=500), cap=timedelta(seconds=15))
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ConsumerPolicy:
    """Limits of deliveries, and waits before retries."""

    concurrency: int = 16
    max_deliveries: int = 12
    """Failed deliveries after which a message becomes a dead letter."""
    max_unended: int = 30
    """Deliveries without any result after which a message becomes a dead letter.

    Some of them may have ended because another message killed the process.
    """
    max_died: int = 5
    """Consecutive deliveries whose process died, after which a message becomes a dead letter.

    In the last of them the message was alone. A suite tolerates as many deaths in a minute.
    """
    backoff: Backoff = _BACKOFF
    """Waits after failed deliveries."""
    outage: Backoff = _OUTAGE
    """Waits during an outage, see `OUTAGES`."""


class Consumer:
    """Runs the event handlers of a service for the messages of its subscriptions."""

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
        measures: Measures = UNMEASURED,
        event_data: EventData | None = None,
    ) -> None:
        """Create a consumer with a handler for each topic in `subscriptions`.

        `event_data` loads the data of large events, which are outside of their messages.
        """
        self._service = service
        self._bus = bus
        self._dead_letters = dead_letters
        self._clock = clock
        self._ids = ids
        self._subscriptions = dict(subscriptions)
        self._policy = policy or ConsumerPolicy()
        self._spans = spans or MessageSpans(service)
        self._measures, self._specs = measures, EventMeasures(subscriptions)
        self._event_data = event_data
        self._outages = Retries(self._policy.outage, ids)
        self._failing_since: datetime | None = None

    async def run(self) -> None:
        """Consume until cancelled. Raises `BusError` for a topic to which the service does not subscribe."""
        await self._bus.consume(
            self._service, sorted(self._subscriptions), self.handle_delivery, self._policy.concurrency
        )

    def failing_for_s(self) -> float:
        """Return how long deliveries have been failing without a success between, in seconds.

        0 after a handled event or a dead letter.
        """
        since = self._failing_since
        return 0.0 if since is None else max(0.0, (self._clock.now() - since).total_seconds())

    async def handle_delivery(self, delivery: Delivery) -> Disposition:
        """Handle one delivery and return what becomes of its message.

        Runs the event's handler, records a dead letter if the failure is permanent, and counts metrics. Raises nothing
        except at cancellation.
        """
        try:
            event = decode_event(delivery.message)
        except Undecodable as error:
            return await self._dead_letter(delivery, f"undecodable: {error}", None)
        if event.dataref is None or self._event_data is None:
            return await self._process(delivery, event)
        try:
            event, message = await self._event_data.load_if_referenced(event, delivery.message)
        except (EventDataLost, Undecodable) as error:
            return await self._dead_letter(delivery, str(error), event)
        except BlobUnavailable as error:
            return self._wait_out(delivery.topic, describe_failure(error))
        return await self._process(replace(delivery, message=message), event)  # a dead letter holds the data themselves

    async def _process(self, delivery: Delivery, event: Event) -> Disposition:
        with (
            bound_contextvars(event_id=event.id, event_type=event.type, **log_context(event.subject, event.data)),
            self._spans.processing_span(event, delivery.attempt),
        ):
            defect = self._find_defect(delivery, event)
            return await (self._dead_letter(delivery, defect, event) if defect else self._handle(delivery, event))

    def _find_defect(self, delivery: Delivery, event: Event) -> str | None:
        """Return why the event must not reach a handler, or None."""
        if event.type != delivery.topic:
            return "ce-type is not the topic"
        if event.type not in TOPICS or event.type not in self._subscriptions:
            return "this service has no handler for this type"
        try:
            # Fields that a newer publisher added are accepted: see `aex_models.events.parse_event_data`.
            TOPICS[event.type].data.model_validate(event.data, extra="ignore")
        except ValidationError as error:
            return f"data: {describe_validation_error(error)}"
        if delivery.attempt > self._policy.max_unended:  # handlers that killed their process
            return f"{delivery.attempt - 1} deliveries had no result"
        if delivery.died >= self._policy.max_died:
            return f"the process died in {delivery.died} deliveries in a row: its handler kills the process"
        return None

    async def _handle(self, delivery: Delivery, event: Event) -> Disposition:
        started = time.perf_counter()
        try:
            await self._subscriptions[event.type](event)
        except (Poison, UnreadableEvent) as permanent:
            return await self._dead_letter(delivery, str(permanent), event)
        except OUTAGES as error:
            return self._wait_out(delivery.topic, describe_failure(error))
        except RetryLater as later:
            return await self._retry(delivery, event, later.reason, later.delay)
        except Exception as error:  # noqa: BLE001 one event must not stop the others
            delay = self._policy.backoff.delay(delivery.attempt, self._ids.jitter())
            _log.warning("event_failed", attempt=delivery.attempt, failure=exception_chain(error))
            return await self._retry(delivery, event, describe_failure(error), delay)
        self._outages.reset()
        self._failing_since = None
        took_s, age_s = time.perf_counter() - started, (self._clock.now() - event.time).total_seconds()
        self._measures.count(self._specs.deliveries, event.type, HANDLED)
        self._measures.observe(self._specs.handling, took_s, event.type)
        self._measures.observe(self._specs.age, age_s, event.type)
        took_ms, age_ms = round(took_s * 1_000, 1), round(age_s * 1_000, 1)
        _log.debug("event_handled", attempt=delivery.attempt, took_ms=took_ms, age_ms=age_ms)
        return Ack()

    async def _retry(self, delivery: Delivery, event: Event, reason: str, delay: timedelta) -> Disposition:
        if delivery.attempt >= self._policy.max_deliveries:
            return await self._dead_letter(delivery, f"gave up after {delivery.attempt} deliveries: {reason}", event)
        self._failing_since = self._failing_since or self._clock.now()
        self._count(event.type, RETRIED)
        _log.warning("event_retried", reason=reason, attempt=delivery.attempt, retry_in_s=delay.total_seconds())
        return Retry(delay)

    def _wait_out(self, topic: str, reason: str) -> Disposition:
        """Return a retry that is not counted as an attempt; its delay grows with the outage."""
        self._failing_since = self._failing_since or self._clock.now()
        delay_s = self._outages.count_failure_and_get_delay_s()
        self._count(topic, WAITING)
        _log.warning("event_waits_for_outage", reason=reason, retry_in_s=delay_s)
        return Retry(timedelta(seconds=delay_s), counted=False)

    async def _dead_letter(self, delivery: Delivery, reason: str, event: Event | None) -> Disposition:
        """Record a dead letter and return an ack; if it cannot be written, return an uncounted retry."""
        event_id, subject = (event.id, event.subject) if event else (None, None)
        try:
            await self._dead_letters.store_or_count(delivery.topic, delivery.message, reason, event_id, subject)
        except Exception as error:  # noqa: BLE001 a message without its dead letter must not be lost
            return self._wait_out(delivery.topic, f"dead letter not written: {describe_failure(error)}")
        self._failing_since = None
        self._count(delivery.topic, DEAD)
        return Ack()

    def _count(self, topic: str, result: str) -> None:
        """Count a delivery that was not handled, and mark the running span as failed."""
        self._measures.count(self._specs.deliveries, topic, result)
        add_span_attributes({"aex.disposition": result})
        mark_span_failed(result)
