import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
from fastapi import Depends, Request
from fastapi.responses import Response
from structlog.testing import capture_logs

from aex_runtime.http.app import build_app
from aex_runtime.http.routing import Public, service_router
from aex_runtime.http.streaming import EventStream
from aex_runtime.service import assemble
from aex_runtime.settings import RuntimeSettings


async def ticks(seconds: float) -> AsyncIterator[bytes]:
    yield b"data: 1\n\n"
    await asyncio.sleep(seconds)
    yield b"data: 2\n\n"


async def request_stream(
    data_dir: Path, *, lifetime_s: float, open_streams_end: bool = False
) -> tuple[str, str, list[Any]]:
    parts = assemble("settlement", RuntimeSettings(data_dir=data_dir, store_url="memory:", bus_url="memory:"))
    router = service_router()

    @router.get("/ticks", dependencies=[Depends(Public("a test"))])
    async def tick(request: Request) -> Response:
        return EventStream(ticks(0.3), streams=request.app.state.open_streams, lifetime_s=lifetime_s)

    app = build_app(parts, router)
    if open_streams_end:
        app.state.open_streams.end_all()
    with capture_logs() as logs:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://settlement") as client:
            answer = await client.get("/ticks")
            metrics = (await client.get("/metrics")).text
    assert len(app.state.open_streams) == 0
    return answer.text, metrics, [entry for entry in logs if entry.get("route") == "/ticks"]


def value(metrics: str, name: str) -> float:
    [line] = [line for line in metrics.splitlines() if line.startswith(name) and 'route="/ticks"' in line]
    return float(line.rpartition(" ")[2])


async def test_stream_is_logged_at_its_begin_and_end(tmp_path: Path) -> None:
    text, metrics, (begun, ended) = await request_stream(tmp_path, lifetime_s=60)
    assert text == "data: 1\n\ndata: 2\n\n"
    assert (begun["event"], begun["status"]) == ("request", 200)
    assert begun["duration_ms"] < 250
    assert (ended["event"], ended["duration_ms"] >= 250) == ("stream_ended", True)
    assert value(metrics, "aex_http_request_seconds_sum") < 0.25
    assert value(metrics, "aex_http_requests_total") == 1


async def test_stream_ends_with_its_lifetime_or_the_service(tmp_path: Path) -> None:
    text, _, _ = await request_stream(tmp_path, lifetime_s=0.05)
    assert text == "data: 1\n\n"
    async with asyncio.timeout(0.25):
        text, _, _ = await request_stream(tmp_path, lifetime_s=60, open_streams_end=True)
    assert text in {"", "data: 1\n\n"}
