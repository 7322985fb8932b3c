"""W3C trace context, which connects a request with its events and with their effects.

The running trace and its tracer are stored in the context of the running task, as log fields are. If the running trace
is recorded, `trace_step` starts spans in it.
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
"""Attributes of a span, named by OpenTelemetry's conventions or `aex.…`: ids, names and numbers, never content.

Only those in `tracing.sdk.EXPORTED_ATTRIBUTES` leave the process.
"""


class PropagatingTracer(trace.Tracer):
    """A tracer for services without an exporter: its spans are not recorded, only passed on.

    A span has an id of its own, and the trace and the sampling decision of its parent. The SDK would cost 80 ms at
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


def current_trace_context() -> dict[str, str]:
    """Return the W3C trace context of the running span: `traceparent`, and `tracestate` if there is one."""
    return trace_context_of(trace.get_current_span())


def trace_context_of(span: trace.Span) -> dict[str, str]:
    """Return the W3C trace context of a span: `traceparent`, and `tracestate` if there is one."""
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier, trace.set_span_in_context(span, Context()))
    return carrier


def parse_trace_context(traceparent: str | None, tracestate: str | None = None) -> Context:
    """Return an OpenTelemetry context with this trace only; an empty one if it is missing or invalid."""
    if not traceparent:
        return Context()
    return _PROPAGATOR.extract({"traceparent": traceparent, "tracestate": tracestate or ""}, Context())


def is_valid_traceparent(traceparent: str | None) -> bool:
    """Return whether this text is a valid `traceparent`."""
    return trace.get_current_span(parse_trace_context(traceparent)).get_span_context().is_valid


@contextmanager
def continue_trace(
    traceparent: str | None,
    tracestate: str | None,
    name: str,
    provider: trace.TracerProvider | None = None,
    *,
    kind: SpanKind = SpanKind.CONSUMER,
    attributes: Attributes | None = None,
    work_belongs_to_trace: bool = True,
) -> Iterator[trace.Span]:
    """Run the block in a new span of this trace; of a new trace if `traceparent` is missing or invalid.

    `work_belongs_to_trace`: whether the work in the block belongs to this trace; if not, see `continue_subject_trace`.
    Without a provider the span is not recorded.
    """
    parent = parse_trace_context(traceparent, tracestate)
    given = work_belongs_to_trace and trace.get_current_span(parent).get_span_context().is_valid
    tracer = _UNRECORDED if provider is None else provider.get_tracer(SCOPE)
    span = tracer.start_span(name, parent, kind, attributes)
    with _run_in_span(span, {_TRACER: tracer, _GIVEN: given}):
        yield span


@contextmanager
def record_steps(provider: trace.TracerProvider, *, caller_named_trace: bool) -> Iterator[None]:
    """Run the block with `provider` as the recorder of its steps.

    `caller_named_trace`: whether the request named the running trace.
    """
    values = {_TRACER: provider.get_tracer(SCOPE), _GIVEN: caller_named_trace}
    token = contexts.attach(_set_values(contexts.get_current(), values))
    try:
        yield
    finally:
        contexts.detach(token)


@contextmanager
def trace_step(
    name: str, attributes: Attributes | None = None, kind: SpanKind = SpanKind.INTERNAL
) -> Iterator[trace.Span]:
    """Run the block in a new span if the running trace is recorded; yield the new or the running span."""
    running, tracer = trace.get_current_span(), contexts.get_value(_TRACER)
    if not running.is_recording() or not isinstance(tracer, trace.Tracer):
        yield running
        return
    span = tracer.start_span(name, None, kind, attributes)
    with _run_in_span(span, {}):
        yield span


@contextmanager
def resume_trace(trace_context: Mapping[str, str], name: str) -> Iterator[None]:
    """Run the block, in a task of its own, in a span whose parent may have ended.

    `trace_context` is the parent's result of `current_trace_context`.
    """
    parent = parse_trace_context(trace_context.get("traceparent"), trace_context.get("tracestate"))
    with _run_in_span(_running_tracer().start_span(name, parent, SpanKind.INTERNAL), {}):
        yield


@contextmanager
def continue_subject_trace(traceparent: str | None, name: str, attributes: Attributes | None = None) -> Iterator[None]:
    """Run the block in a span of its subject's trace, linked with the running span.

    `traceparent` is that of the subject, such as a contract. A subject without a trace uses the running trace.
    """
    parent, running = parse_trace_context(traceparent), trace.get_current_span()
    of_subject, of_caller = trace.get_current_span(parent).get_span_context(), running.get_span_context()
    if not of_subject.is_valid or of_subject.trace_id == of_caller.trace_id:
        with trace_step(name, attributes):
            yield
        return
    running.add_link(of_subject)
    tracer = _running_tracer()
    links = [trace.Link(of_caller)] if of_caller.is_valid else []
    with _run_in_span(tracer.start_span(name, parent, SpanKind.INTERNAL, attributes, links), {_GIVEN: True}):
        yield


@contextmanager
def continue_caller_or_subject_trace(
    traceparent: str | None, name: str, attributes: Attributes | None = None
) -> Iterator[None]:
    """Run the block in the caller's trace if the request named one, else in its subject's trace.

    The two traces are linked.
    """
    running = trace.get_current_span()
    if not (contexts.get_value(_GIVEN) and running.get_span_context().is_valid):
        with continue_subject_trace(traceparent, name, attributes):
            yield
        return
    of_subject = trace.get_current_span(parse_trace_context(traceparent)).get_span_context()
    if of_subject.is_valid and of_subject.trace_id != running.get_span_context().trace_id:
        running.add_link(of_subject)
    with trace_step(name, attributes):
        yield


def add_span_attributes(attributes: Attributes) -> None:
    """Add attributes to the running span."""
    trace.get_current_span().set_attributes(dict(attributes))


def mark_span_failed(error_type: str, span: trace.Span | None = None) -> None:
    """Mark a span, by default the running one, as failed. `error_type` is a kind, never a message."""
    target = span or trace.get_current_span()
    target.set_attribute("error.type", error_type)
    target.set_status(trace.StatusCode.ERROR)


@contextmanager
def _run_in_span(span: trace.Span, values: Mapping[str, object]) -> Iterator[None]:
    """Run the block in the span and end the span; an error other than a refusal marks it as failed.

    `values`: further values of the context in the block. A refusal is a `DomainError`.
    """
    token = contexts.attach(_set_values(trace.set_span_in_context(span), values))
    try:
        yield
    except DomainError as refusal:  # a refusal, no failure
        span.set_attribute("error.type", type(refusal).__name__)
        raise
    except BaseException as error:
        # Messages of exceptions may quote evaluation data: they are not recorded.
        mark_span_failed(type(error).__name__, span)
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
