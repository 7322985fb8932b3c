import re

import pytest
from opentelemetry import trace

from aex_runtime.telemetry import continue_trace, current_trace
from aex_runtime.tracing.sdk import recording_tracers

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.parametrize("flags", ["00", "01"])
def test_trace_continues_with_its_state_and_sampling(flags: str) -> None:
    with continue_trace(f"00-{TRACE}-{SPAN}-{flags}", "vendor=1", "work"):
        found = current_trace()
        assert re.fullmatch(rf"00-{TRACE}-(?!{SPAN})[0-9a-f]{{16}}-{flags}", found["traceparent"])
        assert found["tracestate"] == "vendor=1"
    assert current_trace() == {}


@pytest.mark.parametrize(
    "bad", [None, "", "nonsense", f"ff-{TRACE}-{SPAN}-01", f"00-{'0' * 32}-{SPAN}-01", f"00-{TRACE}-{SPAN}-01-x"]
)
def test_invalid_parent_begins_a_trace(bad: str | None) -> None:
    with continue_trace(bad, "vendor=1", "work"):
        first = current_trace()
    with continue_trace(bad, None, "work"):
        assert current_trace()["traceparent"] != first["traceparent"]
    assert TRACE not in first["traceparent"]
    assert "tracestate" not in first


def test_no_provider_is_made_global() -> None:
    recording_tracers("settlement", [])
    assert type(trace.get_tracer_provider()).__name__ == "ProxyTracerProvider"
