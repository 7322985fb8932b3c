"""What surrounds every route: ids, headers, probes, metrics, documentation, and the application's life."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import format_trace_id
from structlog.testing import capture_logs

from aex_runtime.http.metrics import GaugeSpec
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import StoreUnavailable
from aex_runtime.tracing.recording import recording_tracers
from tests.libs.runtime.http.sample import Sample, alive, memory_backends, sample, until


@pytest.mark.parametrize("path", ["/healthz", "/v1/notes", "/nowhere", "/openapi.json"])
async def test_every_answer_carries_a_request_id(made: Sample, path: str) -> None:
    async with made.client(role=None) as client:
        answer = await client.get(path)
        assert re.fullmatch(r"req_[0-9a-f]{32}", answer.headers["x-request-id"])
        assert (await client.get(path, headers={"X-Request-Id": "abc-1:2"})).headers["x-request-id"] == "abc-1:2"


@pytest.mark.parametrize("given", ["", "with space", "x" * 129, "a\tb", "line/../break", '{"a":1}'])
async def test_an_odd_request_id_is_replaced(made: Sample, given: str) -> None:
    async with made.client() as client:
        answer = await client.get("/healthz", headers={"X-Request-Id": given})
    assert answer.headers["x-request-id"].startswith("req_")


async def test_every_answer_carries_security_headers(made: Sample) -> None:
    async with made.client() as client:
        for path in ("/healthz", "/v1/notes", "/nowhere"):
            headers = (await client.get(path)).headers
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cache-control"] == "no-store"
            assert headers["content-security-policy"].startswith("default-src 'none'")
            assert "server" not in headers


async def test_the_access_line_names_route_principal_and_contract(made: Sample) -> None:
    async with made.client("agent", "bot") as client:
        with capture_logs(processors=[_merged]) as lines:
            await client.get("/v1/contracts/ctr_7/ping", headers={"X-Request-Id": "r-1"})
            await client.get("/v1/contracts/ctr_8/ping?key=CANARY")
            await client.get("/healthz")
    first, second = (line for line in lines if line["event"] == "request")
    assert (first["route"], first["status"], first["method"]) == ("/v1/contracts/{contract_id}/ping", 200, "GET")
    assert (first["request_id"], first["principal"], first["role"]) == ("r-1", "bot", "agent")
    assert (first["contract_id"], second["contract_id"]) == ("ctr_7", "ctr_8")
    assert first["duration_ms"] >= 0
    assert "CANARY" not in str(lines)


def _merged(logger: Any, method: str, event: Any) -> Any:
    from structlog.contextvars import merge_contextvars  # noqa: PLC0415 what `configure_logging` puts first

    return merge_contextvars(logger, method, event)


async def test_nothing_of_one_request_shows_in_the_log_of_the_next(made: Sample) -> None:
    async with made.client() as client, made.client(role=None) as stranger:
        await client.get("/v1/contracts/ctr_1/ping")
        with capture_logs(processors=[_merged]) as lines:
            await stranger.get("/v1/notes")
    assert not {"principal", "contract_id"} & set(lines[-1])


async def test_a_trace_goes_from_the_caller_into_the_event(made: Sample) -> None:
    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    async with alive(made.app), made.client() as client:
        headers = {"traceparent": f"00-{trace_id}-00f067aa0ba902b7-01", "tracestate": "vendor=1"}
        await client.post("/v1/notes", json={"text": "t"}, headers=headers)
        await until(lambda: bool(made.events))
    event = made.events[0]
    assert event.traceparent is not None
    version, trace, span, flags = event.traceparent.split("-")
    assert (version, trace, flags, event.tracestate) == ("00", trace_id, "01", "vendor=1")
    assert span != "00f067aa0ba902b7"


@pytest.mark.parametrize("traceparent", ["", "00-xyz", "00-" + "0" * 32 + "-00f067aa0ba902b7-01"])
async def test_a_bad_trace_context_begins_a_new_trace(made: Sample, traceparent: str) -> None:
    async with alive(made.app), made.client() as client:
        await client.post("/v1/notes", json={"text": "t"}, headers={"traceparent": traceparent})
        await until(lambda: bool(made.events))
    assert re.fullmatch(r"00-(?!0{32})[0-9a-f]{32}-[0-9a-f]{16}-00", made.events[0].traceparent or "")


async def test_with_an_exporter_request_and_event_are_spans_of_the_callers_trace(tmp_path: Path) -> None:
    exporter, trace_id = InMemorySpanExporter(), "4bf92f3577b34da6a3ce929d0e0e4736"
    made = sample(tmp_path / "data", tracers=recording_tracers("work-publisher", [SimpleSpanProcessor(exporter)]))
    async with alive(made.app), made.client() as client:
        headers = {"traceparent": f"00-{trace_id}-00f067aa0ba902b7-01"}
        await client.post("/v1/notes", json={"text": "CANARY"}, headers=headers)
        await client.post("/v1/notes", json={"text": ["CANARY"]}, headers=headers)
        await until(lambda: bool(made.timers) and len(exporter.get_finished_spans()) == 5)
    spans = exporter.get_finished_spans()
    names = sorted(span.name for span in spans)
    assert names == [
        "POST /v1/notes",
        "POST /v1/notes",
        "fire remind",
        "process contract.cancelled",
        "publish contract.cancelled",
    ]
    contexts = [context for span in spans if (context := span.get_span_context())]
    assert {format_trace_id(context.trace_id) for context in contexts} == {trace_id}
    told = "".join(span.to_json() for span in spans)
    assert "CANARY" not in told
    assert "eyJ" not in told


async def test_events_and_timers_are_dealt_with_while_the_application_lives(made: Sample) -> None:
    async with alive(made.app), made.client() as client:
        note = (await client.post("/v1/notes", json={"text": "t"})).json()
        await until(lambda: bool(made.events and made.timers))
    assert made.events[0].subject == made.timers[0].subject == note["note_id"]


async def test_what_is_committed_last_is_published_before_the_end(made: Sample) -> None:
    async with alive(made.app), made.client() as client:
        await client.post("/v1/notes", json={"text": "t"})
    async with alive(made.app):  # the next start of the service finds it on the bus
        await until(lambda: bool(made.events))


async def test_resources_are_entered_before_work_begins_and_left_after_it_ends(tmp_path: Path) -> None:
    order: list[str] = []

    @asynccontextmanager
    async def pool() -> AsyncIterator[None]:
        order.append("entered")
        yield
        order.append("left")

    made = sample(tmp_path / "data", resources=[pool])
    async with alive(made.app):
        order.append("alive")
    assert order == ["entered", "alive", "left"]


class DownStore(MemoryStore):
    """A store that does not answer."""

    async def ping(self) -> None:
        raise StoreUnavailable("connection refused: 10.0.0.7")


async def test_readiness_names_what_is_down_and_nothing_more(tmp_path: Path) -> None:
    async def hangs() -> None:
        await asyncio.sleep(60)

    backends = replace(memory_backends(), store=DownStore())
    made = sample(tmp_path / "data", backends, ready={"workers": hangs})
    async with made.client(role=None) as client:
        async with asyncio.timeout(5):
            answer = await client.get("/readyz")
        assert (await client.get("/healthz")).status_code == 200
    assert answer.status_code == 503
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["retry-after"] == "1"
    down = {problem["path"]: problem["message"] for problem in answer.json()["errors"]}
    assert down == {"store": "StoreUnavailable", "workers": "no answer in time"}
    assert "10.0.0.7" not in answer.text


async def test_without_a_vital_part_the_service_is_not_ready(tmp_path: Path) -> None:
    reasons: list[str | None] = [None, "no worker can be started"]
    made = sample(tmp_path / "data", vital={"workers": lambda: reasons.pop(0)})
    async with made.client(role=None) as client:
        assert (await client.get("/readyz")).status_code == 200
        answer = await client.get("/readyz")
    assert answer.status_code == 503
    assert [(each["path"], each["message"]) for each in answer.json()["errors"]] == [("workers", "PartMissing")]


async def test_a_part_that_can_be_done_without_is_told_of_and_leaves_the_service_ready(tmp_path: Path) -> None:
    reasons: list[str | None] = ["starting", None]
    made = sample(tmp_path / "data", dispensable={"sandbox": lambda: reasons.pop(0)})
    async with made.client(role=None) as client:
        answers = [await client.get("/readyz") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert [answer.json() for answer in answers] == [
        {"status": "ready", "missing": {"sandbox": "starting"}},
        {"status": "ready"},
    ]


async def test_metrics_count_by_route_and_read_gauges(tmp_path: Path) -> None:
    async def depth() -> float:
        return 7

    async def broken() -> float:
        raise StoreUnavailable("down")

    gauges = [GaugeSpec("aex_depth", "Depth", depth), GaugeSpec("aex_broken", "Broken", broken)]
    made = sample(tmp_path / "data", gauges=gauges)
    async with made.client() as client:
        for path in ("/v1/notes/a", "/v1/notes/b", "/made/up/1", "/made/up/2"):
            await client.get(path)
        await client.request("BREW", "/v1/notes")
        answer = await client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    text = answer.text
    route = 'method="GET",route="/v1/notes/{note_id}",service="work-publisher"'
    assert f'aex_http_requests_total{{{route},status="404"}} 2.0' in text
    assert 'method="GET",route="unmatched",service="work-publisher",status="404"} 2.0' in text
    assert "/made/up" not in text
    assert "BREW" not in text
    assert 'aex_depth{service="work-publisher"} 7.0' in text
    assert 'aex_broken{service="work-publisher"} NaN' in text
    assert 'aex_dead_letters{service="work-publisher"} 0.0' in text


async def test_two_applications_count_apart(tmp_path: Path) -> None:
    one, two = sample(tmp_path / "data"), sample(tmp_path / "data")
    async with one.client() as first, two.client() as second:
        await first.get("/v1/notes")
        assert 'route="/v1/notes"' not in (await second.get("/metrics")).text


async def test_the_documentation_loads_nothing_from_elsewhere(made: Sample) -> None:
    async with made.client(role=None) as client:
        page = await client.get("/docs")
        assert "script-src 'self'" in page.headers["content-security-policy"]
        assert not re.search(r"https?://", page.text)
        for asset in re.findall(r'(?:src|href)="(docs/[^"]+)"', page.text):
            assert (await client.get(f"/{asset}")).status_code == 200
    assert "SwaggerUIBundle" in page.text or "swagger-ui-bundle" in page.text


def test_openapi_tells_of_problems_tokens_and_keys(made: Sample) -> None:
    document = made.app.openapi()
    post = document["paths"]["/v1/notes"]["post"]
    assert set(post["responses"]) == {"201", "400", "401", "403", "404", "409", "413", "422", "429", "503"}
    for status, response in post["responses"].items():
        if status != "201":
            schema = response["content"]["application/problem+json"]["schema"]
            assert schema == {"$ref": "#/components/schemas/ProblemDetails"}
            assert set(response["content"]) == {"application/problem+json"}
    assert post["security"] == [{"bearer": []}]
    assert [each["name"] for each in post["parameters"]] == ["Idempotency-Key"]
    assert document["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
    schemas = document["components"]["schemas"]
    assert {"ProblemDetails", "Problem"} <= set(schemas)
    assert not {"HTTPValidationError", "ValidationError"} & set(schemas)
    assert "security" not in document["paths"]["/healthz"]["get"]
