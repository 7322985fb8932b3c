"""W3C trace context, which connects a request with its events and their effects.

The running trace and its tracer are ambient, as a log's context is. `step` makes spans in it; without a recorded
trace it makes none.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import Any

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from aex_runtime.errors import DomainError

Attributes = Mapping[str, str | int | float | bool]
"""Names by OpenTelemetry's conventions, or `aex.…`: ids, names and numbers, never content. Only those of
`tracing.sdk.EXPORTED_ATTRIBUTES` leave the process."""


class PropagatingTracer(trace.Tracer):
    """A tracer of unrecorded spans, for services without an exporter.

    Its spans have ids of their own, and the trace and sampling decision of their parent. The SDK would cost 80 ms at
    import, and time for each span.
    """

    def __init__(self) -> None:
        self._random = Random()  # noqa: S311 ids are unique, not secret; the system's generator costs two calls each

    def start_span(self, name: str, context: Context | None = None, *_: Any, **__: Any) -> trace.Span:  # noqa: ARG002 OpenTelemetry's signature
        parent = trace.get_current_span(context).get_span_context()
        return NonRecordingSpan(
            SpanContext(
                parent.trace_id if parent.is_valid else self._random.getrandbits(128) or 1,
                self._random.getrandbits(64) or 1,
                is_remote=False,
                trace_flags=TraceFlags(parent.trace_flags if parent.is_valid else 0),
                trace_state=parent.trace_state,
            )
        )

    def start_as_current_span(self, name: str, context: Context | None = None, *_: Any, **__: Any) -> Any:
        return trace.use_span(self.start_span(name, context), record_exception=False)


_PROPAGATOR = TraceContextTextMapPropagator()
_UNRECORDED = PropagatingTracer()
_TRACER = contexts.create_key("aex-tracer")
_GIVEN = contexts.create_key("aex-trace-given")
SCOPE = "aex"


def current_trace() -> dict[str, str]:
    """Return the W3C trace context of the running work: `traceparent`, and `tracestate` if there is one."""
    return trace_of(trace.get_current_span())


def trace_of(span: trace.Span) -> dict[str, str]:
    """Return the W3C trace context of a span."""
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier, trace.set_span_in_context(span, Context()))
    return carrier


def parent_of(traceparent: str | None, tracestate: str | None = None) -> Context:
    """Return a context with this trace alone; an empty one if it is absent or invalid."""
    if not traceparent:
        return Context()
    return _PROPAGATOR.extract({"traceparent": traceparent, "tracestate": tracestate or ""}, Context())


def names_trace(traceparent: str | None) -> bool:
    """Return whether this is the context of a trace."""
    return trace.get_current_span(parent_of(traceparent)).get_span_context().is_valid


@contextmanager
def continue_trace(
    traceparent: str | None,
    tracestate: str | None,
    name: str,
    provider: trace.TracerProvider | None = None,
    *,
    kind: SpanKind = SpanKind.CONSUMER,
    attributes: Attributes | None = None,
    joins: bool = True,
) -> Iterator[trace.Span]:
    """Run the block in a span of this trace; of a new trace if it is absent or invalid.

    `joins`: whether work inside belongs to this trace; else see `subject_trace`.
    """
    parent = parent_of(traceparent, tracestate)
    given = joins and trace.get_current_span(parent).get_span_context().is_valid
    tracer = _UNRECORDED if provider is None else provider.get_tracer(SCOPE)
    span = tracer.start_span(name, parent, kind, attributes)
    with _run_in_span(span, {_TRACER: tracer, _GIVEN: given}):
        yield span


@contextmanager
def request_trace(provider: trace.TracerProvider, *, given: bool) -> Iterator[None]:
    """Run the block with steps recorded by `provider`; `given`: the caller named the trace."""
    values = {_TRACER: provider.get_tracer(SCOPE), _GIVEN: given}
    token = contexts.attach(_set_values(contexts.get_current(), values))
    try:
        yield
    finally:
        contexts.detach(token)


@contextmanager
def step(name: str, attributes: Attributes | None = None, kind: SpanKind = SpanKind.INTERNAL) -> Iterator[trace.Span]:
    """Run the block in a span of its own, if the running trace is recorded."""
    running, tracer = trace.get_current_span(), contexts.get_value(_TRACER)
    if not running.is_recording() or not isinstance(tracer, trace.Tracer):
        yield running
        return
    span = tracer.start_span(name, None, kind, attributes)
    with _run_in_span(span, {}):
        yield span


@contextmanager
def resume_trace(given: Mapping[str, str], name: str) -> Iterator[None]:
    """Run a task of its own in a span below one that may have ended; `given` is its `current_trace`."""
    parent = parent_of(given.get("traceparent"), given.get("tracestate"))
    with _run_in_span(_running_tracer().start_span(name, parent, SpanKind.INTERNAL), {}):
        yield


@contextmanager
def subject_trace(traceparent: str | None, name: str, attributes: Attributes | None = None) -> Iterator[None]:
    """Run the block in a span of its subject's trace, linked with the running span.

    A subject without a trace uses the running one.
    """
    parent, running = parent_of(traceparent), trace.get_current_span()
    of_subject, of_caller = trace.get_current_span(parent).get_span_context(), running.get_span_context()
    if not of_subject.is_valid or of_subject.trace_id == of_caller.trace_id:
        with step(name, attributes):
            yield
        return
    running.add_link(of_subject)
    tracer = _running_tracer()
    links = [trace.Link(of_caller)] if of_caller.is_valid else []
    with _run_in_span(tracer.start_span(name, parent, SpanKind.INTERNAL, attributes, links), {_GIVEN: True}):
        yield


@contextmanager
def caller_or_subject_trace(traceparent: str | None, name: str, attributes: Attributes | None = None) -> Iterator[None]:
    """Run the block in the trace that the caller named, linked with the subject's; else in the subject's."""
    running = trace.get_current_span()
    if not (contexts.get_value(_GIVEN) and running.get_span_context().is_valid):
        with subject_trace(traceparent, name, attributes):
            yield
        return
    of_subject = trace.get_current_span(parent_of(traceparent)).get_span_context()
    if of_subject.is_valid and of_subject.trace_id != running.get_span_context().trace_id:
        running.add_link(of_subject)
    with step(name, attributes):
        yield


def describe_span(attributes: Attributes) -> None:
    """Add attributes to the running span."""
    trace.get_current_span().set_attributes(dict(attributes))


def mark_failed(error_type: str, span: trace.Span | None = None) -> None:
    """Mark the span, by default the running one, as failed; never with the message of an exception."""
    target = span or trace.get_current_span()
    target.set_attribute("error.type", error_type)
    target.set_status(trace.StatusCode.ERROR)


@contextmanager
def _run_in_span(span: trace.Span, values: Mapping[str, object]) -> Iterator[None]:
    """Run the block in the span and end the span."""
    token = contexts.attach(_set_values(trace.set_span_in_context(span), values))
    try:
        yield
    except DomainError as refusal:  # a refusal, no failure
        span.set_attribute("error.type", type(refusal).__name__)
        raise
    except BaseException as error:
        # Messages of exceptions may quote evaluation data: they are not recorded.
        mark_failed(type(error).__name__, span)
        raise
    finally:
        contexts.detach(token)
        span.end()


def _running_tracer() -> trace.Tracer:
    tracer = contexts.get_value(_TRACER)
    return tracer if isinstance(tracer, trace.Tracer) else _UNRECORDED


def _set_values(context: Context, values: Mapping[str, object]) -> Context:
    for key, value in values.items():
        context = contexts.set_value(key, value, context)
    return context
