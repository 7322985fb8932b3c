import asyncio
import re
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode, format_span_id, format_trace_id

from aex_models.events import Event, WorkChecked
from aex_runtime.bus.port import BusUnavailable
from aex_runtime.errors import Conflict
from aex_runtime.telemetry import (
    continue_caller_or_subject_trace,
    continue_subject_trace,
    continue_trace,
    current_trace_context,
    resume_trace,
    trace_step,
)
from aex_runtime.tracing.sdk import create_recording_tracers
from aex_runtime.tracing.spans import MessageSpans, build_span_attributes_of_ids, build_span_attributes_of_message_ids
from tests.libs.runtime.background import START

OWN, OF_CALLER = "1" * 32, "2" * 32
SPAN = "00f067aa0ba902b7"
SUBJECT, CALLER = f"00-{OWN}-{SPAN}-01", f"00-{OF_CALLER}-{SPAN}-01"


class Recorded:
    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.tracers: TracerProvider = create_recording_tracers("verification", [SimpleSpanProcessor(self.exporter)])

    def named(self, name: str) -> ReadableSpan:
        [found] = [span for span in self.exporter.get_finished_spans() if span.name == name]
        return found

    def names(self) -> list[str]:
        return [span.name for span in self.exporter.get_finished_spans()]


@pytest.fixture
def recorded() -> Iterator[Recorded]:
    made = Recorded()
    yield made
    made.tracers.shutdown()


def trace_of(span: ReadableSpan) -> str:
    context = span.get_span_context()
    assert context is not None
    return format_trace_id(context.trace_id)


def parent_of(span: ReadableSpan) -> str:
    assert span.parent is not None
    return format_span_id(span.parent.span_id)


def linked(span: ReadableSpan) -> list[str]:
    return [format_trace_id(link.context.trace_id) for link in span.links]


def running_trace() -> str:
    return current_trace_context()["traceparent"].split("-")[1]


def test_step_is_a_child_of_the_running_span(recorded: Recorded) -> None:
    with (
        continue_trace(CALLER, None, "request", recorded.tracers),
        trace_step("verify candidate", {"aex.verdict": "passed"}),
    ):
        assert running_trace() == OF_CALLER
    inner, outer = recorded.named("verify candidate"), recorded.named("request")
    assert parent_of(inner) == format_span_id(outer.get_span_context().span_id)  # type: ignore[union-attr]
    assert (inner.kind, dict(inner.attributes or {})) == (SpanKind.INTERNAL, {"aex.verdict": "passed"})


def test_step_makes_no_span_without_a_recorded_trace() -> None:
    with trace_step("alone"):
        assert current_trace_context() == {}
    with continue_trace(CALLER, None, "request"):
        before = current_trace_context()
        with trace_step("inside"):
            assert current_trace_context() == before


def test_refusal_is_no_error_and_crash_has_its_type_alone(recorded: Recorded) -> None:
    for name, error in (("refused", Conflict("contract_closed", "CANARY")), ("crashed", KeyError("CANARY"))):
        with pytest.raises(type(error)), continue_trace(CALLER, None, name, recorded.tracers):
            raise error
    refused, crashed = recorded.named("refused"), recorded.named("crashed")
    assert (refused.status.status_code, crashed.status.status_code) == (StatusCode.UNSET, StatusCode.ERROR)
    assert [(span.attributes or {})["error.type"] for span in (refused, crashed)] == ["Conflict", "KeyError"]
    assert "CANARY" not in refused.to_json() + crashed.to_json()


def test_request_without_a_trace_continues_its_subjects(recorded: Recorded) -> None:
    with (
        continue_trace(None, None, "request", recorded.tracers),
        continue_caller_or_subject_trace(SUBJECT, "submit output"),
        trace_step("inside"),
    ):
        assert running_trace() == OWN
    request, submitting = recorded.named("request"), recorded.named("submit output")
    assert trace_of(request) not in {OWN, OF_CALLER}
    assert (trace_of(submitting), parent_of(submitting)) == (OWN, SPAN)
    assert (linked(request), linked(submitting)) == ([OWN], [trace_of(request)])
    assert trace_of(recorded.named("inside")) == OWN


def test_callers_trace_continues_and_is_linked(recorded: Recorded) -> None:
    with (
        continue_trace(CALLER, None, "request", recorded.tracers),
        continue_caller_or_subject_trace(SUBJECT, "submit output"),
    ):
        assert running_trace() == OF_CALLER
    assert trace_of(recorded.named("submit output")) == OF_CALLER
    assert (linked(recorded.named("request")), linked(recorded.named("submit output"))) == ([OWN], [])


def test_front_ends_trace_is_left_for_the_subjects(recorded: Recorded) -> None:
    with (
        continue_trace(CALLER, None, "request", recorded.tracers, work_belongs_to_trace=False),
        continue_caller_or_subject_trace(SUBJECT, "submit output"),
    ):
        assert running_trace() == OWN
    assert trace_of(recorded.named("request")) == OF_CALLER
    assert linked(recorded.named("submit output")) == [OF_CALLER]
    with continue_trace(CALLER, None, "request", recorded.tracers), continue_subject_trace(SUBJECT, "open contract"):
        assert running_trace() == OWN


@pytest.mark.parametrize("none", [None, "", "nonsense"])
def test_subject_without_a_trace_uses_the_running_one(recorded: Recorded, none: str | None) -> None:
    with continue_trace(CALLER, None, "request", recorded.tracers), continue_subject_trace(none, "submit output"):
        assert running_trace() == OF_CALLER
    assert recorded.names() == ["submit output", "request"]


async def test_task_goes_on_below_a_span_that_has_ended(recorded: Recorded) -> None:
    async def work(given: dict[str, str]) -> None:
        await asyncio.sleep(0)
        with resume_trace(given, "verify slow attempt"), trace_step("inside"):
            assert running_trace() == OWN

    with continue_trace(SUBJECT, None, "process output.submitted", recorded.tracers):
        task = asyncio.create_task(work(current_trace_context()))
    await task
    assert recorded.names() == ["process output.submitted", "inside", "verify slow attempt"]
    before, resumed = (recorded.named(name) for name in ("process output.submitted", "verify slow attempt"))
    assert parent_of(resumed) == format_span_id(before.get_span_context().span_id)  # type: ignore[union-attr]


@pytest.mark.parametrize(("caller", "expected"), [(None, OWN), (CALLER, OF_CALLER)])
def test_unrecorded_context_continues_the_same_trace(caller: str | None, expected: str) -> None:
    with continue_trace(caller, None, "request"), continue_caller_or_subject_trace(SUBJECT, "submit output"):
        assert running_trace() == expected
    with continue_caller_or_subject_trace(SUBJECT, "submit output"):
        assert running_trace() == OWN


def checked(traceparent: str | None) -> Event:
    data = WorkChecked(work_id="work_1", ok=True).model_dump(mode="json")
    return Event(
        id="evt_1", type="work.checked", source="/aex/verification", subject="work_1", time=START,
        traceparent=traceparent, tracestate="vendor=1", data=data,
    )  # fmt: skip


def test_message_continues_the_span_of_its_publication(recorded: Recorded) -> None:
    spans = MessageSpans("verification", recorded.tracers, "gcp_pubsub")
    with spans.publication_spans([checked(SUBJECT)]) as [sent]:
        pass
    with spans.processing_span(sent, attempt=3):
        pass
    publishing, processing = recorded.named("publish work.checked"), recorded.named("process work.checked")
    assert parent_of(publishing) == SPAN
    assert parent_of(processing) == format_span_id(publishing.get_span_context().span_id)  # type: ignore[union-attr]
    assert (publishing.kind, processing.kind) == (SpanKind.PRODUCER, SpanKind.CONSUMER)
    assert sent.tracestate == "vendor=1"
    shared = {"messaging.destination.name": "work.checked", "messaging.message.id": "evt_1", "aex.work_id": "work_1"}
    for span in (publishing, processing):
        assert shared.items() <= dict(span.attributes or {}).items()


@pytest.mark.parametrize("parent", [None, SUBJECT.removesuffix("01") + "00"])
def test_message_outside_of_recorded_traces_is_unchanged(recorded: Recorded, parent: str | None) -> None:
    event = checked(parent)
    with MessageSpans("verification", recorded.tracers).publication_spans([event]) as sent:
        assert sent == [event]
    with MessageSpans("verification").publication_spans([checked(SUBJECT)]) as sent:
        assert sent == [checked(SUBJECT)]
    assert recorded.names() == []


def test_failed_publishing_fails_the_span_of_each_message(recorded: Recorded) -> None:
    with (
        pytest.raises(BusUnavailable),
        MessageSpans("verification", recorded.tracers).publication_spans([checked(SUBJECT), checked(CALLER)]),
    ):
        raise BusUnavailable("10.0.0.7")
    statuses = [span.status for span in recorded.exporter.get_finished_spans()]
    assert [(each.status_code, each.description) for each in statuses] == [(StatusCode.ERROR, None)] * 2


def test_span_has_valid_ids_alone() -> None:
    assert build_span_attributes_of_ids(
        "ctr_1", "att_2", None, 7, "ctr_" + "x" * 100, "ctr_a b", "canary", "bot_1"
    ) == {
        "aex.contract_id": "ctr_1",
        "aex.attempt_id": "att_2",
    }
    nested = {"outcome": {"work_id": "work_1", "contract_id": "ctr_1"}, "attempt_id": "att_1"}
    expected = {"aex.work_id": "work_1", "aex.contract_id": "ctr_1", "aex.attempt_id": "att_1"}
    assert build_span_attributes_of_message_ids("ctr_1", nested) == expected


@pytest.mark.parametrize("flags", ["00", "01"])
def test_trace_continues_with_its_state_and_sampling(flags: str) -> None:
    with continue_trace(f"00-{OWN}-{SPAN}-{flags}", "vendor=1", "work"):
        found = current_trace_context()
        assert re.fullmatch(rf"00-{OWN}-(?!{SPAN})[0-9a-f]{{16}}-{flags}", found["traceparent"])
        assert found["tracestate"] == "vendor=1"
    assert current_trace_context() == {}


@pytest.mark.parametrize(
    "bad", [None, "", "nonsense", f"ff-{OWN}-{SPAN}-01", f"00-{'0' * 32}-{SPAN}-01", f"00-{OWN}-{SPAN}-01-x"]
)
def test_invalid_parent_begins_a_trace(bad: str | None) -> None:
    with continue_trace(bad, "vendor=1", "work"):
        first = current_trace_context()
    with continue_trace(bad, None, "work"):
        assert current_trace_context()["traceparent"] != first["traceparent"]
    assert OWN not in first["traceparent"]
    assert "tracestate" not in first


def test_no_provider_is_made_global() -> None:
    create_recording_tracers("settlement", [])
    assert type(trace.get_tracer_provider()).__name__ == "ProxyTracerProvider"
