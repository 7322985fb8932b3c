"""What of a span leaves the process: its names, times, links, and the attributes that are listed here.

FastAPI's spans hold the path, the query and the host as callers wrote them, a trace may have a state of kilobytes that
its caller made up, and a status may have a text. None of it goes out.
"""

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import Link, SpanContext, SpanKind, Status

from aex_runtime.tracing.subjects import EXTRACTION_S

RELEASED = frozenset(
    {
        "aex.attempt_id",
        "aex.contract_id",
        "aex.delivery_attempt",
        "aex.disposition",
        "aex.hold_id",
        "aex.timer.kind",
        "aex.verdict",
        "aex.work_id",
        "error.type",
        "http.request.method",
        "http.response.status_code",
        "http.route",
        "messaging.consumer.group.name",
        "messaging.destination.name",
        "messaging.message.id",
        "messaging.operation.name",
        "messaging.operation.type",
        "messaging.system",
        "network.protocol.version",
        "server.address",
        "server.port",
        "url.scheme",
        "url.template",
    }
)
"""Every attribute that is exported, but for the times of extractors."""
_OF_SERVICES_CALLED = frozenset({"server.address", "server.port"})
"""Ours in a call to a service; in the span of a request they are its `Host`."""


def released(span: ReadableSpan) -> ReadableSpan:
    """The span as an exporter may have it."""
    names = RELEASED - _OF_SERVICES_CALLED if span.kind is SpanKind.SERVER else RELEASED
    kept = {
        name: value for name, value in (span.attributes or {}).items() if name in names or name.startswith(EXTRACTION_S)
    }
    own = span.get_span_context()
    return ReadableSpan(
        name=span.name,
        context=own and _stateless(own),
        parent=span.parent,
        resource=span.resource,
        attributes=kept,
        links=[Link(_stateless(link.context), link.attributes) for link in span.links],
        kind=span.kind,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _stateless(context: SpanContext) -> SpanContext:
    if not context.trace_state:
        return context
    return SpanContext(context.trace_id, context.span_id, context.is_remote, context.trace_flags)
