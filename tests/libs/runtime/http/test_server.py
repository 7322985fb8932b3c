import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import uvicorn
from structlog.testing import capture_logs

from aex_runtime.service import open_backends
from aex_runtime.settings import RuntimeSettings
from tests.libs.runtime.http.sample import SERVICE, Sample, sample, until


@dataclass
class Running:
    made: Sample
    port: int

    def client(self) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {self.made.token()}"}
        return httpx.AsyncClient(base_url=f"http://127.0.0.1:{self.port}", headers=headers, timeout=30)

    async def raw(self, *parts: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        head = f"POST /v1/notes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.made.token()}\r\n"
        writer.write(head.encode() + b"Content-Type: application/json\r\n" + b"".join(parts))
        await writer.drain()
        return reader, writer


@asynccontextmanager
async def serving(data_dir: Path) -> AsyncIterator[Running]:
    settings = RuntimeSettings(data_dir=data_dir)
    backends = open_backends(settings, SERVICE)
    made = sample(data_dir, backends)
    config = uvicorn.Config(made.app, port=0, log_config=None, access_log=False, server_header=False, lifespan="on")
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    await until(lambda: server.started or task.done())
    try:
        yield Running(made, server.servers[0].sockets[0].getsockname()[1])
    finally:
        server.should_exit = True
        await task
        await backends.bus.close()
        await backends.store.close()


async def head_of(reader: asyncio.StreamReader) -> tuple[bytes, dict[str, object]]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    return head.split(b"\r\n")[0], json.loads(await reader.readexactly(length))


async def test_request_publishes_its_event(tmp_path: Path) -> None:
    async with serving(tmp_path / "data") as running, running.client() as client:
        answer = await client.post("/v1/notes", json={"text": "t"}, headers={"Idempotency-Key": "k"})
        assert answer.status_code == 201
        assert "server" not in answer.headers
        assert (await client.get("/readyz")).json() == {"status": "ready"}
        await until(lambda: bool(running.made.events and running.made.timers))
        assert (await client.get("/metrics")).status_code == 200
    assert running.made.events[0].subject == answer.json()["note_id"]


async def test_fifty_requests_at_once_with_one_key_write_one_record(tmp_path: Path) -> None:
    async with serving(tmp_path / "data") as running, running.client() as client:
        headers = {"Idempotency-Key": "k"}
        posts = (client.post("/v1/notes", json={"text": "t"}, headers=headers) for _ in range(50))
        answers = await asyncio.gather(*posts)
        assert {answer.status_code for answer in answers} <= {201, 409}
        assert len({answer.json()["note_id"] for answer in answers if answer.status_code == 201}) == 1
        assert len((await client.get("/v1/notes")).json()["items"]) == 1


async def test_giant_body_is_refused_early(tmp_path: Path) -> None:
    async with serving(tmp_path / "data") as running:
        reader, writer = await running.raw(b"Content-Length: 20000000\r\n\r\n")
        declared, document = await head_of(reader)
        writer.close()
        reader, writer = await running.raw(b"Transfer-Encoding: chunked\r\n\r\n")
        answer = asyncio.create_task(head_of(reader))
        with suppress(ConnectionError):
            for _ in range(30):
                writer.write(b"f4240\r\n" + b" " * 1_000_000 + b"\r\n")
                await writer.drain()
        status, _ = await answer
        writer.close()
        async with running.client() as client:
            assert (await client.get("/healthz")).status_code == 200
    assert declared.startswith(b"HTTP/1.1 413 ")
    assert document["code"] == "body_too_large"
    assert b"413" in status


async def test_client_disconnect_is_not_an_error(tmp_path: Path) -> None:
    with capture_logs() as lines:
        async with serving(tmp_path / "data") as running:
            _, writer = await running.raw(b'Content-Length: 100\r\n\r\n{"text":')
            writer.close()
            await until(lambda: any(line.get("status") == 499 for line in lines))
    assert not [line for line in lines if line["log_level"] == "error"]
