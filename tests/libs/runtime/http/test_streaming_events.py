import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from fastapi import Depends, FastAPI, Request
from fastapi.responses import Response
from structlog.testing import capture_logs

from aex_runtime.http.app import build_app
from aex_runtime.http.routing import Public, service_router
from aex_runtime.http.streaming import EventStream
from aex_runtime.service import assemble
from aex_runtime.settings import RuntimeSettings
from tests.libs.runtime.http.sample import until


def make_app(data_dir: Path, go_on: asyncio.Event, lifetime_s: float = 600) -> FastAPI:
    parts = assemble("settlement", RuntimeSettings(data_dir=data_dir, store_url="memory:", bus_url="memory:"))
    router = service_router()

    async def ticks() -> AsyncIterator[bytes]:
        yield b"data: 1\n\n"
        await go_on.wait()
        yield b"data: 2\n\n"

    @router.get("/ticks", dependencies=[Depends(Public("a test"))])
    async def tick(request: Request) -> Response:
        return EventStream(ticks(), streams=request.app.state.open_streams, lifetime_s=lifetime_s)

    return build_app(parts, router)


def client_of(app: FastAPI) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://settlement")


async def test_stream_is_logged_at_its_begin_and_end(tmp_path: Path) -> None:
    go_on = asyncio.Event()
    app = make_app(tmp_path, go_on)
    async with client_of(app) as client:
        with capture_logs() as logs:
            answer = asyncio.create_task(client.get("/ticks"))
            await until(lambda: any(entry["event"] == "request" for entry in logs))
            assert len(app.state.open_streams) == 1
            go_on.set()
            assert (await answer).text == "data: 1\n\ndata: 2\n\n"
        metrics = (await client.get("/metrics")).text
    begun, ended = [entry for entry in logs if entry.get("route") == "/ticks"]
    assert (begun["event"], begun["status"], ended["event"]) == ("request", 200, "stream_ended")
    assert begun["duration_ms"] < ended["duration_ms"]
    lines = [line.rpartition(" ") for line in metrics.splitlines() if 'route="/ticks"' in line]
    values = {name.partition("{")[0]: float(value) for name, _, value in lines}
    assert values["aex_http_request_seconds_sum"] * 1_000 == pytest.approx(begun["duration_ms"], abs=0.01)
    assert values["aex_http_requests_total"] == 1


@pytest.mark.parametrize(("lifetime_s", "service_ends"), [(0.05, False), (600, True)])
async def test_stream_ends_with_its_lifetime_or_the_service(
    tmp_path: Path, lifetime_s: float, service_ends: bool
) -> None:
    app = make_app(tmp_path, asyncio.Event(), lifetime_s)
    if service_ends:
        app.state.open_streams.end_all_and_refuse_new()
    async with client_of(app) as client:
        assert (await client.get("/ticks")).text in {"", "data: 1\n\n"}
    assert len(app.state.open_streams) == 0
