"""A file that is sent as it is made: whole, or visibly cut; in constant memory, and never left open."""

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx
import pytest
import uvicorn
from starlette.requests import ClientDisconnect
from starlette.types import Message

from aex_runtime.http.connections import AbortableProtocol
from aex_runtime.http.download import Download, Pace

Made = Callable[[], AsyncGenerator[bytes, None]]


class Pieces:
    """Pieces of 64 kB, as many as are wanted; `fails_at` one of them."""

    def __init__(self, many: int, fails_at: int | None = None) -> None:
        self.many, self.fails_at = many, fails_at
        self.made, self.closed = 0, asyncio.Event()

    async def __call__(self) -> AsyncGenerator[bytes, None]:
        try:
            for number in range(self.many):
                if number == self.fails_at:
                    raise RuntimeError("the store is gone")
                self.made += 1
                yield b"x" * 65_536
        finally:
            self.closed.set()


def a_download(pieces: Pieces, pace: Pace | None = None) -> Download:
    return Download(pieces(), filename="rows.csv", media_type="text/csv; charset=utf-8", pace=pace or Pace())


@asynccontextmanager
async def served(pieces: Pieces, pace: Pace | None = None) -> AsyncIterator[str]:
    """The download behind a real server, on a free port."""

    async def app(scope: dict[str, object], receive: object, send: object) -> None:
        await a_download(pieces, pace)(scope, receive, send)  # type: ignore[arg-type]  # ASGI, spelled out

    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, http=AbortableProtocol, lifespan="off", log_config=None))
    running = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await running
        listening.close()


async def answered(download: Download, received: Message | None = None) -> list[Message]:
    """What is sent to a reader who takes everything; `received` is what comes from it meanwhile."""
    sent: list[Message] = []

    async def receive() -> Message:
        if received is None:
            await asyncio.Event().wait()
        return received or {}

    async def send(message: Message) -> None:
        sent.append(message)

    await download({"type": "http", "asgi": {"spec_version": "2.3"}}, receive, send)
    return sent


async def test_a_file_comes_whole_with_its_name_and_type() -> None:
    pieces = Pieces(50)
    async with served(pieces) as url, httpx.AsyncClient() as client:
        answer = await client.get(url)
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="rows.csv"'
    assert len(answer.content) == 50 * 65_536
    assert pieces.closed.is_set()


async def test_a_file_that_fails_half_way_is_not_taken_for_whole() -> None:
    pieces = Pieces(50, fails_at=20)
    async with served(pieces) as url, httpx.AsyncClient() as client:
        with pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read"):
            await client.get(url)
    assert pieces.closed.is_set()


async def test_what_fails_before_the_first_piece_can_still_be_answered_otherwise() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    with pytest.raises(RuntimeError, match="the store is gone"):
        await a_download(Pieces(5, fails_at=0)).stream_response(send)
    assert sent == []


async def test_no_piece_at_all_is_an_empty_file() -> None:
    start, end = await answered(a_download(Pieces(0)))
    assert (start["status"], end) == (200, {"type": "http.response.body", "body": b"", "more_body": False})


async def test_a_reader_who_goes_away_closes_the_pieces_at_once() -> None:
    pieces = Pieces(1_000_000)
    async with served(pieces) as url, httpx.AsyncClient() as client:
        async with client.stream("GET", url) as answer:
            async for _ in answer.aiter_raw():
                break
        async with asyncio.timeout(5):
            await pieces.closed.wait()
    assert pieces.made < 1_000


async def test_a_reader_who_takes_nothing_holds_back_what_is_made() -> None:
    pieces = Pieces(1_000_000)
    async with served(pieces) as url, httpx.AsyncClient() as client, client.stream("GET", url):
        await asyncio.sleep(0.5)
        made = pieces.made
        await asyncio.sleep(0.3)
        assert pieces.made == made < 1_000


async def test_a_reader_who_takes_nothing_for_too_long_is_let_go() -> None:
    pieces = Pieces(10)

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    with pytest.raises(ClientDisconnect):
        await a_download(pieces, Pace(patience_s=0.05)).stream_response(send)
    assert (pieces.made, pieces.closed.is_set()) == (1, True)


def taking(seconds: float) -> Callable[[Message], Awaitable[None]]:
    """A reader who takes each piece after so long."""

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            await asyncio.sleep(seconds)

    return send


async def test_a_reader_who_takes_a_little_of_each_piece_for_ever_is_let_go() -> None:
    pieces = Pieces(1_000)
    pace = Pace(patience_s=0.2, least_bytes_s=10 * 65_536)  # a piece in 0.1 s
    with pytest.raises(ClientDisconnect):
        await a_download(pieces, pace).stream_response(taking(0.15))  # never long enough for one piece alone
    assert (1 < pieces.made < 20, pieces.closed.is_set()) == (True, True)


async def test_a_reader_who_keeps_the_pace_gets_everything() -> None:
    pieces = Pieces(20)
    await a_download(pieces, Pace(patience_s=0.2, least_bytes_s=10 * 65_536)).stream_response(taking(0.02))
    assert pieces.made == 20


async def test_what_takes_long_to_make_is_not_the_readers_fault() -> None:
    async def slowly() -> AsyncGenerator[bytes, None]:
        for _ in range(5):
            await asyncio.sleep(0.05)
            yield b"x"

    pace = Pace(patience_s=0.1, least_bytes_s=1_000_000)
    sent = await answered(Download(slowly(), filename="rows.csv", media_type="text/csv", pace=pace))
    assert sent[-1]["more_body"] is False


async def test_the_connection_of_a_reader_who_is_let_go_is_closed_and_what_waits_in_the_server_dropped() -> None:
    pieces = Pieces(1_000_000)
    async with served(pieces, Pace(patience_s=0.3)) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]), limit=1)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        async with asyncio.timeout(10):
            await pieces.closed.wait()
            taken = 0
            while received := await reader.read(65_536):
                taken += len(received)
        writer.close()
        await writer.wait_closed()
    assert taken < (pieces.made - 1) * 65_536  # the last one was waiting to be taken by the server itself
