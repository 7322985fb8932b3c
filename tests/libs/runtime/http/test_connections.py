import asyncio
import json
import socket
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, closing
from typing import Any

import pytest
import uvicorn

from aex_runtime.http.connections import ConnectionBounds, connection_bounds_within_file_limit, create_protocol_class
from tests.bus.messages import TIMEOUT_S
from tests.libs.runtime.http.sample import serving, until

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
LONG_ANSWER = 30_000_000


async def app(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    while (await receive()).get("more_body"):
        continue
    body = b"x" * LONG_ANSWER if scope["path"] == "/long" else b"ok"
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def bounded(bounds: ConnectionBounds, keep_alive_s: int = 5) -> AbstractAsyncContextManager[tuple[uvicorn.Server, int]]:
    times = {"timeout_keep_alive": keep_alive_s, "timeout_graceful_shutdown": 1}
    return serving(app, http=create_protocol_class(bounds), lifespan="off", **times)


async def opened(port: int, sent: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    await writer.drain()
    return reader, writer


async def rest_of(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(TIMEOUT_S):
        try:
            return await reader.read()
        except ConnectionResetError:
            return b""


GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def test_connection_above_the_limit_is_refused() -> None:
    async with bounded(ConnectionBounds(max_connections=3)) as (server, port):
        kept = [await opened(port) for _ in range(3)]
        await until(lambda: len(server.server_state.connections) == 3)
        reader, writer = await opened(port)
        head, _, body = (await rest_of(reader)).partition(b"\r\n\r\n")
        writer.close()
        assert head.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After: 1" in head
        assert b"application/problem+json" in head
        assert json.loads(body)["code"] == "too_many_connections"
        kept[0][1].write(GET)
        assert await kept[0][0].readexactly(12) == b"HTTP/1.1 200"
        for _, each in kept:
            each.close()


FIELD = b"X-A: " + b"a" * 1_000 + b"\r\n"


@pytest.mark.parametrize(
    ("begin", "piece"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n", FIELD),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX-A: ", b"a" * 1_000),
        (b"GET /", b"a" * 1_000),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n", FIELD),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"a" * 1_000),
    ],
    ids=["fields", "one field", "address", "trailers", "chunk extension"],
)
async def test_endless_heads_are_refused(begin: bytes, piece: bytes) -> None:
    async with bounded(ConnectionBounds()) as (server, port):
        reader, writer = await opened(port, begin)
        answer = asyncio.create_task(rest_of(reader))
        sent = 0
        while not answer.done() and sent < 100_000_000:
            try:
                writer.write(piece)
                await writer.drain()
            except ConnectionError:
                break
            sent += len(piece)
            await asyncio.sleep(0)
        assert b"431" in (await answer)[:20] or sent < 10_000_000
        assert sent < 10_000_000
        writer.close()
        await until(lambda: not server.server_state.connections)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost:", GET + b"GET / HT", GET + b"\r\n"])
async def test_slow_head_is_disconnected(sent: bytes) -> None:
    async with bounded(ConnectionBounds(head_s=1), keep_alive_s=60) as (_, port):
        reader, writer = await opened(port, sent[: len(GET)])
        if len(sent) > len(GET):  # what follows comes once the first request was answered
            await reader.readuntil(b"ok")
            writer.write(sent[len(GET) :])
        await rest_of(reader)
        writer.close()


async def test_pipelined_requests_are_answered_up_to_a_number() -> None:
    async with bounded(ConnectionBounds(max_pipelined=30)) as (server, port):
        reader, writer = await opened(port, GET * 30)
        for _ in range(30):
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
        writer.close()
        reader, writer = await opened(port, GET * 5_000)
        answers = await rest_of(reader)
        assert answers.count(b"HTTP/1.1 ") == answers.count(b"HTTP/1.1 200") <= 31
        writer.close()
        await until(lambda: not server.server_state.connections and not server.server_state.tasks)


async def test_reading_pauses_while_pipelined_requests_wait() -> None:
    async with bounded(ConnectionBounds(max_pipelined=2)) as (_, port):
        reader, writer = await opened(port, GET)
        for _ in range(200):  # never more than two wait, though the client waits for nothing
            writer.write(GET * 2)
            await asyncio.sleep(0)
            await reader.readuntil(b"ok")
            await reader.readuntil(b"ok")
        writer.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"nothing of the kind\r\n\r\n",
        b"\x16\x03\x01\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
        b"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    ],
    ids=["words", "TLS", "field", "method", "address", "length"],
)
async def test_malformed_request_gets_a_problem_document(sent: bytes) -> None:
    async with bounded(ConnectionBounds()) as (_, port):
        reader, writer = await opened(port, sent)
        head, _, body = (await rest_of(reader)).partition(b"\r\n\r\n")
        writer.close()
        assert head.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 431 "))
        assert b"application/problem+json" in head
        assert json.loads(body)["status"] == int(head[9:12])


async def test_idle_connection_is_kept_and_a_long_head_is_accepted() -> None:
    async with bounded(ConnectionBounds(head_s=1)) as (_, port):
        reader, writer = await opened(port, b"GET / HTTP/1.1\r\nHost: x\r\n" + FIELD * 50 + b"\r\n")
        await reader.readuntil(b"ok")
        await asyncio.sleep(1.5)
        writer.write(GET)
        await reader.readuntil(b"ok")
        writer.close()


@pytest.mark.parametrize(("unread_s", "keep_alive_s"), [(0.2, 600), (600.0, 1)], ids=["unread", "kept alive"])
async def test_reader_without_progress_is_disconnected(unread_s: float, keep_alive_s: int) -> None:
    async with bounded(ConnectionBounds(unread_s=unread_s), keep_alive_s) as (server, port):
        with closing(socket.create_connection(("127.0.0.1", port))) as deaf:
            deaf.sendall(b"GET /long HTTP/1.1\r\nHost: x\r\n\r\n")
            await until(lambda: bool(server.server_state.connections))
            await until(lambda: not server.server_state.connections)


async def test_slow_reader_with_progress_gets_the_complete_response() -> None:
    unread_s, clock = 1.5, asyncio.get_running_loop().time
    async with bounded(ConnectionBounds(unread_s=unread_s, unread_bytes=1)) as (_, port):
        reader, writer = await opened(port, b"GET /long HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        begun, got = clock(), 0
        while piece := await reader.read(200_000):
            got += len(piece)
            if clock() - begun < 2 * unread_s:  # reading lasts longer than the interval of the checks
                await asyncio.sleep(0.02)
        assert got > LONG_ANSWER
        writer.close()


def test_open_files_limit_connections() -> None:
    assert connection_bounds_within_file_limit(10).max_connections == 10
    assert connection_bounds_within_file_limit(10**9).max_connections < 10**9
