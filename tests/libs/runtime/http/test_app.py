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
from aex_runtime.tracing.sdk import create_recording_tracers
from tests.libs.runtime.http.sample import Sample, alive, memory_backends, sample, serving, until


@pytest.mark.parametrize("path", ["/healthz", "/v1/notes", "/nowhere", "/openapi.json"])
async def test_every_response_has_a_request_id_and_security_headers(shared: Sample, path: str) -> None:
    async with shared.client(role=None) as client:
        answer = await client.get(path)
        assert re.fullmatch(r"req_[0-9a-f]{32}", answer.headers["x-request-id"])
        assert (await client.get(path, headers={"X-Request-Id": "abc-1:2"})).headers["x-request-id"] == "abc-1:2"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert "server" not in answer.headers


@pytest.mark.parametrize("given", ["", "with space", "x" * 129, "a\tb", "line/../break", '{"a":1}'])
async def test_invalid_request_id_is_replaced(shared: Sample, given: str) -> None:
    async with shared.client() as client:
        answer = await client.get("/healthz", headers={"X-Request-Id": given})
    assert answer.headers["x-request-id"].startswith("req_")


async def test_access_log_names_route_principal_and_contract(made: Sample) -> None:
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


async def test_log_context_does_not_leak_into_the_next_request(made: Sample) -> None:
    async with made.client() as client, made.client(role=None) as stranger:
        await client.get("/v1/contracts/ctr_1/ping")
        with capture_logs(processors=[_merged]) as lines:
            await stranger.get("/v1/notes")
    assert not {"principal", "contract_id"} & set(lines[-1])


async def test_exported_spans_belong_to_the_callers_trace(tmp_path: Path) -> None:
    exporter, trace_id = InMemorySpanExporter(), "4bf92f3577b34da6a3ce929d0e0e4736"
    made = sample(
        tmp_path / "data", tracers=create_recording_tracers("work-publisher", [SimpleSpanProcessor(exporter)])
    )
    async with alive(made.app), made.client() as client:
        headers = {"traceparent": f"00-{trace_id}-00f067aa0ba902b7-01"}
        await client.post("/v1/notes", json={"text": "CANARY"}, headers=headers)
        await client.post("/v1/notes", json={"text": ["CANARY"]}, headers=headers)
        await until(lambda: bool(made.timers) and len(exporter.get_finished_spans()) == 5)
    spans = exporter.get_finished_spans()
    names = sorted(span.name for span in spans)
    others = ["fire remind", "process contract.cancelled", "publish contract.cancelled"]
    assert names == ["POST /v1/notes", "POST /v1/notes", *others]
    contexts = [context for span in spans if (context := span.get_span_context())]
    assert {format_trace_id(context.trace_id) for context in contexts} == {trace_id}
    exported = "".join(span.to_json() for span in spans)
    assert "CANARY" not in exported
    assert "eyJ" not in exported


async def test_client_disconnect_is_not_an_error(made: Sample) -> None:
    head = f"POST /v1/notes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {made.token()}\r\nContent-Length: 100\r\n\r\n"
    with capture_logs() as lines:
        async with serving(made.app) as (_, port):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head.encode() + b'{"text":')
            await writer.drain()
            writer.close()
            await until(lambda: any(line.get("status") == 499 for line in lines))
    assert not [line for line in lines if line["log_level"] == "error"]


async def test_resources_surround_background_work(tmp_path: Path) -> None:
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
    async def ping(self) -> None:
        raise StoreUnavailable("connection refused: 10.0.0.7")


async def test_readiness_names_failing_parts_only(tmp_path: Path) -> None:
    async def hangs() -> None:
        await asyncio.sleep(60)

    backends = replace(memory_backends(), store=DownStore())
    made = sample(tmp_path / "data", backends, probes={"workers": hangs})
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


async def test_missing_required_part_but_no_optional_one_makes_the_service_unready(tmp_path: Path) -> None:
    reasons: list[str | None] = [None, None, "no worker can be started"]
    others: list[str | None] = ["starting", None]
    made = sample(
        tmp_path / "data",
        required_parts={"workers": lambda: reasons.pop(0)},
        optional_parts={"sandbox": lambda: others.pop(0)},
    )
    async with made.client(role=None) as client:
        first, second, missing = [await client.get("/readyz") for _ in range(3)]
    assert (first.status_code, first.json()) == (200, {"status": "ready", "missing": {"sandbox": "starting"}})
    assert (second.status_code, second.json()) == (200, {"status": "ready"})
    assert missing.status_code == 503
    assert [(each["path"], each["message"]) for each in missing.json()["errors"]] == [("workers", "PartMissing")]


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
    async with sample(tmp_path / "data").client() as other:
        assert "{note_id}" not in (await other.get("/metrics")).text


async def test_documentation_loads_local_files_only(made: Sample) -> None:
    async with made.client(role=None) as client:
        page = await client.get("/docs")
        assert "script-src 'self'" in page.headers["content-security-policy"]
        assert not re.search(r"https?://", page.text)
        for asset in re.findall(r'(?:src|href)="(docs/[^"]+)"', page.text):
            assert (await client.get(f"/{asset}")).status_code == 200
    assert "SwaggerUIBundle" in page.text or "swagger-ui-bundle" in page.text


def test_openapi_documents_problems_tokens_and_keys(made: Sample) -> None:
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
