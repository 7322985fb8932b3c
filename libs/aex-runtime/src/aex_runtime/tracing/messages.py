"""The spans of messages and timers: where one is published, and where it is dealt with, each below what caused it."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, TracerProvider

from aex_models.events import Event
from aex_runtime.telemetry import SCOPE, Attributes, continue_trace, failed, parent_of, trace_of
from aex_runtime.timer_entry import Timer
from aex_runtime.tracing.subjects import about_message

OWN_QUEUE, PUBSUB = "aex", "gcp_pubsub"
"""What carries messages, as OpenTelemetry calls it."""


def carrier_of(bus_url: str) -> str:
    """What carries the messages of the bus behind a URL."""
    return PUBSUB if bus_url.startswith("pubsub:") else OWN_QUEUE


@dataclass(frozen=True, slots=True)
class MessageSpans:
    """Makes the spans of one service's messages and timers."""

    service: str
    provider: TracerProvider | None = None
    """None: what comes in is continued, and nothing is recorded."""
    system: str = OWN_QUEUE

    @contextmanager
    def publishing(self, events: Sequence[Event]) -> Iterator[Sequence[Event]]:
        """Publish in the block what it is given: the events, each in the context of a span of its own."""
        if self.provider is None:
            yield events
            return
        tracer, spans = self.provider.get_tracer(SCOPE), list[Span]()
        try:
            yield [self._in_span(tracer, event, spans) for event in events]
        except BaseException as error:
            for span in spans:
                failed(type(error).__name__, span)
            raise
        finally:
            for span in spans:
                span.end()

    def processing(self, event: Event, attempt: int) -> AbstractContextManager[Span]:
        """Deal with the event in the block; `attempt` is the delivery's."""
        parent, name = (event.traceparent, event.tracestate), f"process {event.type}"
        if self.provider is None:
            return continue_trace(*parent, name)
        attributes: Attributes = {
            **self._said_of(event, "process"),
            "messaging.consumer.group.name": self.service,
            "aex.delivery_attempt": attempt,
        }
        return continue_trace(*parent, name, self.provider, attributes=attributes)

    def firing(self, timer: Timer) -> AbstractContextManager[Span]:
        """Fire the timer in the block."""
        attributes = {"aex.timer.kind": timer.kind, **about_message(timer.subject, timer.payload)}
        parent = timer.traceparent, timer.tracestate
        return continue_trace(
            *parent, f"fire {timer.kind}", self.provider, kind=SpanKind.INTERNAL, attributes=attributes
        )

    def _in_span(self, tracer: trace.Tracer, event: Event, spans: list[Span]) -> Event:
        """The event as it goes out: in the context of a new span, where its trace is recorded."""
        parent = parent_of(event.traceparent, event.tracestate)
        if not trace.get_current_span(parent).get_span_context().trace_flags.sampled:
            return event
        said = self._said_of(event, "publish")
        span = tracer.start_span(f"publish {event.type}", parent, SpanKind.PRODUCER, said)
        spans.append(span)
        return event.model_copy(update={"traceparent": None, "tracestate": None, **trace_of(span)})

    def _said_of(self, event: Event, operation: str) -> dict[str, str | int | float | bool]:
        return {
            "messaging.system": self.system,
            "messaging.operation.name": operation,
            "messaging.operation.type": "send" if operation == "publish" else operation,
            "messaging.destination.name": event.type,
            "messaging.message.id": event.id,
            **about_message(event.subject, event.data),
        }
