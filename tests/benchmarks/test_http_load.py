"""The load generator sends what it is told to, and takes no refusal for throughput."""

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import repeat

import pytest

from tests.benchmarks.http_load import Connection, drive, paced, request

Served = list[tuple[bytes, bytes]]
"""Heads and bodies of the requests that came."""


class Server:
    """Answers in two pieces, as a server may."""

    def __init__(self, status: str) -> None:
        self.status, self.served = status, Served()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].partition(b"\r")[0])
                body = await reader.readexactly(length)
                self.served.append((head, body))
                writer.write(f"HTTP/1.1 {self.status}\r\nX: y\r\ncontent-length: {length}\r\n\r\n".encode())
                await writer.drain()
                await asyncio.sleep(0.001)
                writer.write(body)
        except asyncio.IncompleteReadError:
            writer.close()


@pytest.fixture
async def server(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Server, int]]:
    found = Server(getattr(request, "param", "201 Created"))
    listening = await asyncio.start_server(found.handle, "127.0.0.1", 0)
    yield found, listening.sockets[0].getsockname()[1]
    listening.close()


async def test_an_answer_is_read_whole_and_the_connection_kept(server: tuple[Server, int]) -> None:
    found, port = server
    line = await Connection.open(port)
    for number in range(3):
        answer = await line.send(request("POST", "/v1/work", "token", json.dumps({"n": number}).encode(), X_Y="z"))
        assert (answer.status, json.loads(answer.body)) == (201, {"n": number})
    line.close()
    head, _ = found.served[0]
    assert head.startswith(b"POST /v1/work HTTP/1.1\r\n")
    assert b"Authorization: Bearer token\r\n" in head
    assert b"X-Y: z\r\n" in head


async def test_a_closed_loop_counts_what_was_answered(server: tuple[Server, int]) -> None:
    found, port = server
    driven = await drive(port, repeat(request("POST", "/", body=b"{}")), 4, 0.3, 201)
    assert len(driven.latencies_s) == len(found.served) > 4
    assert all(each >= 0.001 for each in driven.latencies_s)


@pytest.mark.parametrize("server", ["429 Too Many Requests"], indirect=True)
async def test_a_refusal_is_no_throughput(server: tuple[Server, int]) -> None:
    with pytest.raises(AssertionError, match="429"):
        await drive(server[1], repeat(request("POST", "/", body=b"{}")), 2, 0.3, 201)


async def test_an_open_loop_keeps_its_pace_however_long_answers_take() -> None:
    begun: list[float] = []
    loop = asyncio.get_running_loop()

    async def slow() -> None:
        begun.append(loop.time())
        await asyncio.sleep(0.3)

    start = loop.time()
    await paced((number * 0.02 for number in range(5)), slow)
    assert begun[-1] - start < 0.3
    assert all(at - start >= 0.02 * number - 0.001 for number, at in enumerate(begun))
