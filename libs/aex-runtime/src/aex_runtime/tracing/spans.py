"""The spans of messages, timers and calls to other services, with the ids of their subjects.

Ids are recognised by their prefixes. No other text of a caller is recorded.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, TracerProvider

from aex_models.events import Event
from aex_runtime import telemetry
from aex_runtime.records import Timer

EXTRACTION_S = "aex.extraction_s."
"""Prefix of the attribute with an extractor's duration in seconds; the extractor's name follows."""
_ID = re.compile(r"(ctr|work|att|hold)_[0-9A-Za-z-]{1,64}", re.ASCII)
_NAMES = {"ctr": "aex.contract_id", "work": "aex.work_id", "att": "aex.attempt_id", "hold": "aex.hold_id"}
_FIELDS = ("contract_id", "work_id", "attempt_id", "hold_id")
_NESTED = ("award", "outcome")
"""The objects with ids in the data of `contract.awarded` and `outcome.verified`."""


def build_span_attributes_of_ids(*ids: object) -> dict[str, str]:
    """Return the span attributes of ids: `"ctr_1"` → `{"aex.contract_id": "ctr_1"}`.

    Text that is no id of a known kind is skipped.
    """
    matches = [_ID.fullmatch(each) for each in ids if isinstance(each, str)]
    return {_NAMES[found[1]]: found[0] for found in matches if found}


def build_span_attributes_of_message_ids(subject: str, data: Mapping[str, Any]) -> dict[str, str]:
    """Return the span attributes of the ids in an event or a timer: in its subject and in its data."""
    nested = [found for name in _NESTED if isinstance(found := data.get(name), Mapping)]
    return build_span_attributes_of_ids(*(each.get(field) for each in (*nested, data) for field in _FIELDS), subject)


OWN_QUEUE, PUBSUB = "aex", "gcp_pubsub"


@dataclass(frozen=True, slots=True)
class MessageSpans:
    """Starts the spans of a service's messages and timers."""

    service: str
    provider: TracerProvider | None = None
    """Provider that records spans; None: traces are continued without a record."""
    system: str = OWN_QUEUE

    @contextmanager
    def publication_spans(self, events: Sequence[Event]) -> Iterator[Sequence[Event]]:
        """Yield copies of the events, each with the trace context of a span of its own.

        The spans end with the block; an error marks them as failed. Without a provider the events are yielded as they
        are.
        """
        if self.provider is None:
            yield events
            return
        tracer, spans = self.provider.get_tracer(telemetry.SCOPE), list[Span]()
        try:
            yield [self._in_span(tracer, event, spans) for event in events]
        except BaseException as error:
            for span in spans:
                telemetry.mark_span_failed(type(error).__name__, span)
            raise
        finally:
            for span in spans:
                span.end()

    def processing_span(self, event: Event, attempt: int) -> AbstractContextManager[Span]:
        """Return a context manager that runs its block in the span of handling an event.

        `attempt` is the number of the delivery.
        """
        parent, name = (event.traceparent, event.tracestate), f"process {event.type}"
        if self.provider is None:
            return telemetry.continue_trace(*parent, name)
        attributes = self._attributes_of(event, "process")
        attributes |= {"messaging.consumer.group.name": self.service, "aex.delivery_attempt": attempt}
        return telemetry.continue_trace(*parent, name, self.provider, attributes=attributes)

    def timer_span(self, timer: Timer) -> AbstractContextManager[Span]:
        """Return a context manager that runs its block in the span of firing a timer."""
        attributes = {
            "aex.timer.kind": timer.kind,
            **build_span_attributes_of_message_ids(timer.subject, timer.payload),
        }
        parent, name = (timer.traceparent, timer.tracestate), f"fire {timer.kind}"
        return telemetry.continue_trace(*parent, name, self.provider, kind=SpanKind.INTERNAL, attributes=attributes)

    def _in_span(self, tracer: trace.Tracer, event: Event, spans: list[Span]) -> Event:
        """Return the event with the context of a new span, which is added to `spans`.

        An event whose trace is not recorded is returned as it is.
        """
        parent = telemetry.parse_trace_context(event.traceparent, event.tracestate)
        if not trace.get_current_span(parent).get_span_context().trace_flags.sampled:
            return event
        attributes = self._attributes_of(event, "publish")
        span = tracer.start_span(f"publish {event.type}", parent, SpanKind.PRODUCER, attributes)
        spans.append(span)
        return event.model_copy(update={"traceparent": None, "tracestate": None, **telemetry.trace_context_of(span)})

    def _attributes_of(self, event: Event, operation: str) -> dict[str, str | int | float | bool]:
        return {
            "messaging.system": self.system,
            "messaging.operation.name": operation,
            "messaging.operation.type": "send" if operation == "publish" else operation,
            "messaging.destination.name": event.type,
            "messaging.message.id": event.id,
            **build_span_attributes_of_message_ids(event.subject, event.data),
        }


CONTRACT_TRACE = "ce-traceparent"
"""Header with the trace of an award, named as in CloudEvents over HTTP."""
_FIRST_ERROR = 400


def call_span(method: str, url: str, path_template: str, ids: telemetry.Attributes) -> AbstractContextManager[Span]:
    """Return a context manager that runs its block in the span of a call to another service.

    `path_template` is the path with names of parameters, `ids` the attributes of the ids that the call concerns.
    """
    parts = urlsplit(url)
    attributes: dict[str, str | int | float | bool] = {
        "http.request.method": method,
        "url.template": path_template,
        "server.address": parts.hostname or "",
        "server.port": parts.port or (443 if parts.scheme == "https" else 80),
        **ids,
    }
    return telemetry.trace_step(f"{method} {path_template}", attributes, SpanKind.CLIENT)


def record_call_status(status: int) -> None:
    """Record the status of a call in its span; from 400 on mark the span as failed."""
    telemetry.add_span_attributes({"http.response.status_code": status})
    if status >= _FIRST_ERROR:
        telemetry.mark_span_failed(str(status))
