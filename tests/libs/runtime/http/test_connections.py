"""Connections cost a bounded amount of memory and time, whoever opens them: over real ones."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from typing import Any

import pytest
import uvicorn

from aex_runtime.http.connections import ConnectionBounds, bounds_for, protocol_within

PATIENCE_S = 10.0
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
LONG_ANSWER = 30_000_000


async def app(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    """`/long`: much to read; else two letters."""
    while (await receive()).get("more_body"):
        continue
    body = b"x" * LONG_ANSWER if scope["path"] == "/long" else b"ok"
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def serving(bounds: ConnectionBounds, keep_alive_s: int = 5) -> AsyncIterator[tuple[uvicorn.Server, int]]:
    config = uvicorn.Config(
        app,
        port=0,
        http=protocol_within(bounds),
        lifespan="off",
        log_config=None,
        timeout_keep_alive=keep_alive_s,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    await until(lambda: server.started)
    try:
        yield server, server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await task


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 what is waited for tells nobody
            await asyncio.sleep(0.01)


async def opened(port: int, sent: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    await writer.drain()
    return reader, writer


async def rest_of(reader: asyncio.StreamReader) -> bytes:
    """Everything up to the end of the connection."""
    async with asyncio.timeout(PATIENCE_S):
        try:
            return await reader.read()
        except ConnectionResetError:
            return b""


GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def test_one_connection_too_many_is_told_so_and_the_others_are_served() -> None:
    async with serving(ConnectionBounds(most=3)) as (server, port):
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
async def test_what_never_comes_to_its_end_is_not_gathered(begin: bytes, piece: bytes) -> None:
    async with serving(ConnectionBounds()) as (server, port):
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


async def test_a_head_of_the_usual_kind_may_be_long() -> None:
    async with serving(ConnectionBounds()) as (_, port):
        reader, writer = await opened(port, b"GET / HTTP/1.1\r\nHost: x\r\n" + FIELD * 50 + b"\r\n")
        assert await reader.readexactly(12) == b"HTTP/1.1 200"
        writer.close()


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost:", GET + b"GET / HT", GET + b"\r\n"])
async def test_who_does_not_come_to_the_point_is_let_go(sent: bytes) -> None:
    async with serving(ConnectionBounds(head_s=0.2), keep_alive_s=60) as (_, port):
        reader, writer = await opened(port, sent[: len(GET)])
        if len(sent) > len(GET):  # what follows comes once the first request was answered
            await reader.readuntil(b"ok")
            writer.write(sent[len(GET) :])
        await rest_of(reader)
        writer.close()


async def test_requests_ahead_of_their_answers_are_answered_in_order() -> None:
    async with serving(ConnectionBounds(ahead=30)) as (_, port):
        reader, writer = await opened(port, GET * 30)
        for _ in range(30):
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
        writer.close()


async def test_who_sends_many_requests_ahead_is_let_go_with_whole_answers_alone() -> None:
    async with serving(ConnectionBounds(ahead=30)) as (server, port):
        reader, writer = await opened(port, GET * 5_000)
        answers = await rest_of(reader)
        assert answers.count(b"HTTP/1.1 ") == answers.count(b"HTTP/1.1 200") <= 31
        writer.close()
        await until(lambda: not server.server_state.connections and not server.server_state.tasks)


async def test_who_sends_faster_than_is_answered_is_not_read_ahead_of() -> None:
    async with serving(ConnectionBounds(ahead=2)) as (_, port):
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
        b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
        b"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    ],
    ids=["words", "field", "method", "address", "length"],
)
async def test_what_is_no_request_is_answered_with_a_problem(sent: bytes) -> None:
    async with serving(ConnectionBounds()) as (_, port):
        reader, writer = await opened(port, sent)
        head, _, body = (await rest_of(reader)).partition(b"\r\n\r\n")
        writer.close()
        assert head.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 431 "))
        assert b"application/problem+json" in head
        assert json.loads(body)["status"] == int(head[9:12])


async def test_a_connection_between_requests_is_kept_as_long_as_clients_keep_it() -> None:
    async with serving(ConnectionBounds(head_s=0.2)) as (_, port):
        reader, writer = await opened(port, GET)
        await reader.readuntil(b"ok")
        await asyncio.sleep(0.5)
        writer.write(GET)
        await reader.readuntil(b"ok")
        writer.close()


@pytest.mark.parametrize(("unread_s", "keep_alive_s"), [(0.2, 600), (600.0, 1)], ids=["unread", "kept alive"])
async def test_a_reader_that_reads_nothing_does_not_keep_its_answer_here(unread_s: float, keep_alive_s: int) -> None:
    async with serving(ConnectionBounds(unread_s=unread_s), keep_alive_s) as (server, port):
        with closing(socket.create_connection(("127.0.0.1", port))) as deaf:
            deaf.sendall(b"GET /long HTTP/1.1\r\nHost: x\r\n\r\n")
            await until(lambda: bool(server.server_state.connections))
            await until(lambda: not server.server_state.connections)


async def test_a_reader_that_reads_gets_all_of_it() -> None:
    async with serving(ConnectionBounds(unread_s=0.2)) as (_, port):
        reader, writer = await opened(port, b"GET /long HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        got = 0
        async with asyncio.timeout(PATIENCE_S):
            while piece := await reader.read(500_000):
                got += len(piece)
                await asyncio.sleep(0.01)
        assert got > LONG_ANSWER
        writer.close()


def test_there_are_never_more_connections_than_files() -> None:
    assert bounds_for(10).most == 10
    assert bounds_for(10**9).most < 10**9
