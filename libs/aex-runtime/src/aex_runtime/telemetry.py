"""Trace context (W3C): what ties a request, its events and what they cause together. Logs are in `logs.py`.

The running trace is ambient, as a log's context is, and so are the tracers that record it: what runs inside makes
spans with `step` and needs to be given nothing. Outside of any trace, and where nothing is recorded, a step is none.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from aex_runtime.errors import DomainError
from aex_runtime.tracing.propagating import PropagatingTracer

Attributes = Mapping[str, str | int | float | bool]
"""Names by OpenTelemetry's conventions, or `aex.…`: ids, names and numbers, never content. Only those that
`tracing/released.py` lists leave the process."""


_PROPAGATOR = TraceContextTextMapPropagator()
_UNRECORDED = PropagatingTracer()
_TRACER = contexts.create_key("aex-tracer")
_GIVEN = contexts.create_key("aex-trace-given")
SCOPE = "aex"
"""Of all instrumentation that is ours."""


def current_trace() -> dict[str, str]:
    """The W3C trace context of the running work: `traceparent`, and `tracestate` where there is one."""
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier)
    return carrier


def trace_of(span: trace.Span) -> dict[str, str]:
    """As `current_trace`, of this span."""
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier, trace.set_span_in_context(span, Context()))
    return carrier


def parent_of(traceparent: str | None, tracestate: str | None = None) -> Context:
    """A context with this trace, and with nothing else; with none where it is absent or bad."""
    if not traceparent:
        return Context()
    return _PROPAGATOR.extract({"traceparent": traceparent, "tracestate": tracestate or ""}, Context())


def names_trace(traceparent: str | None) -> bool:
    """Whether this is the context of a trace."""
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
    """Run the block in a span called `name` under the given context; in a new trace where that is absent or bad.

    `joins`: whether what is done inside belongs to the given trace; else see `in_trace_of`.
    """
    parent = parent_of(traceparent, tracestate)
    given = joins and trace.get_current_span(parent).get_span_context().is_valid
    tracer = _UNRECORDED if provider is None else provider.get_tracer(SCOPE)
    span = tracer.start_span(name, parent, kind, attributes)
    with _running(span, {_TRACER: tracer, _GIVEN: given}):
        yield span


@contextmanager
def request_trace(provider: trace.TracerProvider, *, given: bool) -> Iterator[None]:
    """Run the block in the request's span, which FastAPI has made: its steps are recorded by `provider`.

    `given`: whether the caller named the trace.
    """
    values = {_TRACER: provider.get_tracer(SCOPE), _GIVEN: given}
    token = contexts.attach(_with(contexts.get_current(), values))
    try:
        yield
    finally:
        contexts.detach(token)


@contextmanager
def step(name: str, attributes: Attributes | None = None, kind: SpanKind = SpanKind.INTERNAL) -> Iterator[trace.Span]:
    """Run the block in a span of its own, where the running trace is recorded."""
    running, tracer = trace.get_current_span(), contexts.get_value(_TRACER)
    if not running.is_recording() or not isinstance(tracer, trace.Tracer):
        yield running
        return
    span = tracer.start_span(name, None, kind, attributes)
    with _running(span, {}):
        yield span


@contextmanager
def in_trace_of(traceparent: str | None, name: str, attributes: Attributes | None = None) -> Iterator[None]:
    """Run the block in the trace that its subject has had from its beginning, in a span called `name`.

    The running span and that one point to each other. Where the subject has no trace, the running one goes on.
    """
    parent, running = parent_of(traceparent), trace.get_current_span()
    of_subject, of_caller = trace.get_current_span(parent).get_span_context(), running.get_span_context()
    if not of_subject.is_valid or of_subject.trace_id == of_caller.trace_id:
        with step(name, attributes):
            yield
        return
    running.add_link(of_subject)
    tracer = contexts.get_value(_TRACER)
    if not isinstance(tracer, trace.Tracer):
        tracer = _UNRECORDED
    links = [trace.Link(of_caller)] if of_caller.is_valid else []
    with _running(tracer.start_span(name, parent, SpanKind.INTERNAL, attributes, links), {_GIVEN: True}):
        yield


@contextmanager
def as_asked_or_in_trace_of(traceparent: str | None, name: str, attributes: Attributes | None = None) -> Iterator[None]:
    """Run the block in the trace that the caller named, linked with the subject's; where it named none, in that one."""
    running = trace.get_current_span()
    if not (contexts.get_value(_GIVEN) and running.get_span_context().is_valid):
        with in_trace_of(traceparent, name, attributes):
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


def failed(error_type: str, span: trace.Span | None = None) -> None:
    """Mark the span, or else the running one, as failed: by a word, never by the message of an exception."""
    told = span or trace.get_current_span()
    told.set_attribute("error.type", error_type)
    told.set_status(trace.StatusCode.ERROR)


@contextmanager
def _running(span: trace.Span, values: Mapping[str, object]) -> Iterator[None]:
    """The block runs in the span, which ends with it."""
    token = contexts.attach(_with(trace.set_span_in_context(span), values))
    try:
        yield
    except DomainError as refusal:  # told to whoever asked: nothing is broken
        span.set_attribute("error.type", type(refusal).__name__)
        raise
    except BaseException as error:
        # Messages of exceptions may quote evaluation data: they are not recorded.
        failed(type(error).__name__, span)
        raise
    finally:
        contexts.detach(token)
        span.end()


def _with(context: Context, values: Mapping[str, object]) -> Context:
    for key, value in values.items():
        context = contexts.set_value(key, value, context)
    return context
