"""The spans of messages, timers and calls to other services, with the ids of their subjects.

Ids are recognised by their prefix; no other text of a caller is recorded.
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
"""The prefix, before an extractor's name, of its seconds."""
_ID = re.compile(r"(ctr|work|att|hold)_[0-9A-Za-z-]{1,64}", re.ASCII)
_NAMES = {"ctr": "aex.contract_id", "work": "aex.work_id", "att": "aex.attempt_id", "hold": "aex.hold_id"}
_FIELDS = ("contract_id", "work_id", "attempt_id", "hold_id")
_NESTED = ("award", "outcome")
"""The objects with ids in `contract.awarded` and `outcome.verified`."""


def span_ids(*ids: object) -> dict[str, str]:
    """Return the attributes of ids: `about("ctr_1")` → `{"aex.contract_id": "ctr_1"}`."""
    matches = [_ID.fullmatch(each) for each in ids if isinstance(each, str)]
    return {_NAMES[found[1]]: found[0] for found in matches if found}


def message_attributes(subject: str, data: Mapping[str, Any]) -> dict[str, str]:
    """Return the attributes of an event's or a timer's subject, and of the ids in its data."""
    nested = [found for name in _NESTED if isinstance(found := data.get(name), Mapping)]
    return span_ids(*(each.get(field) for each in (*nested, data) for field in _FIELDS), subject)


OWN_QUEUE, PUBSUB = "aex", "gcp_pubsub"


@dataclass(frozen=True, slots=True)
class MessageSpans:
    """The spans of a service's messages and timers."""

    service: str
    provider: TracerProvider | None = None
    """Provider of spans; None continues traces without a record."""
    system: str = OWN_QUEUE

    @contextmanager
    def publication_spans(self, events: Sequence[Event]) -> Iterator[Sequence[Event]]:
        """Yield the events to publish in the block, each in the context of a span of its own."""
        if self.provider is None:
            yield events
            return
        tracer, spans = self.provider.get_tracer(telemetry.SCOPE), list[Span]()
        try:
            yield [self._in_span(tracer, event, spans) for event in events]
        except BaseException as error:
            for span in spans:
                telemetry.mark_failed(type(error).__name__, span)
            raise
        finally:
            for span in spans:
                span.end()

    def processing(self, event: Event, attempt: int) -> AbstractContextManager[Span]:
        """Return the span of handling an event; `attempt` is the delivery's."""
        parent, name = (event.traceparent, event.tracestate), f"process {event.type}"
        if self.provider is None:
            return telemetry.continue_trace(*parent, name)
        attributes = self._attributes_of(event, "process")
        attributes |= {"messaging.consumer.group.name": self.service, "aex.delivery_attempt": attempt}
        return telemetry.continue_trace(*parent, name, self.provider, attributes=attributes)

    def timer_span(self, timer: Timer) -> AbstractContextManager[Span]:
        """Return the span of firing a timer."""
        attributes = {"aex.timer.kind": timer.kind, **message_attributes(timer.subject, timer.payload)}
        parent, name = (timer.traceparent, timer.tracestate), f"fire {timer.kind}"
        return telemetry.continue_trace(*parent, name, self.provider, kind=SpanKind.INTERNAL, attributes=attributes)

    def _in_span(self, tracer: trace.Tracer, event: Event, spans: list[Span]) -> Event:
        """Return the event in the context of a new span, if its trace is recorded."""
        parent = telemetry.parent_of(event.traceparent, event.tracestate)
        if not trace.get_current_span(parent).get_span_context().trace_flags.sampled:
            return event
        attributes = self._attributes_of(event, "publish")
        span = tracer.start_span(f"publish {event.type}", parent, SpanKind.PRODUCER, attributes)
        spans.append(span)
        return event.model_copy(update={"traceparent": None, "tracestate": None, **telemetry.trace_of(span)})

    def _attributes_of(self, event: Event, operation: str) -> dict[str, str | int | float | bool]:
        return {
            "messaging.system": self.system,
            "messaging.operation.name": operation,
            "messaging.operation.type": "send" if operation == "publish" else operation,
            "messaging.destination.name": event.type,
            "messaging.message.id": event.id,
            **message_attributes(event.subject, event.data),
        }


CONTRACT_TRACE = "ce-traceparent"
"""The header of an award's trace, named as in CloudEvents over HTTP."""
_FIRST_ERROR = 400


def calling(method: str, url: str, template: str, about: telemetry.Attributes) -> AbstractContextManager[Span]:
    """Return the span of a call to `template` of the service at `url`; `about` has the ids."""
    parts = urlsplit(url)
    attributes: dict[str, str | int | float | bool] = {
        "http.request.method": method,
        "url.template": template,
        "server.address": parts.hostname or "",
        "server.port": parts.port or (443 if parts.scheme == "https" else 80),
        **about,
    }
    return telemetry.step(f"{method} {template}", attributes, SpanKind.CLIENT)


def on_answer(status: int) -> None:
    """Record the status of the call in its span."""
    telemetry.describe_span({"http.response.status_code": status})
    if status >= _FIRST_ERROR:
        telemetry.mark_failed(str(status))
