import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx
import pytest
from starlette.requests import ClientDisconnect
from starlette.types import Message

from aex_runtime.http.streaming import Download, TransferRate
from tests.bus.messages import TIMEOUT_S
from tests.libs.runtime.background import in_virtual_time
from tests.libs.runtime.http.sample import serving


class Pieces:
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


def make_download(pieces: Pieces, min_rate: TransferRate | None = None) -> Download:
    return Download(
        pieces(), filename="rows.csv", media_type="text/csv; charset=utf-8", min_rate=min_rate or TransferRate()
    )


@asynccontextmanager
async def served(pieces: Pieces, min_rate: TransferRate | None = None) -> AsyncIterator[str]:
    async def app(scope: dict[str, object], receive: object, send: object) -> None:
        await make_download(pieces, min_rate)(scope, receive, send)  # type: ignore[arg-type]  # ASGI, spelled out

    async with serving(app, lifespan="off") as (_, port):
        yield f"http://127.0.0.1:{port}"


async def answered(download: Download, received: Message | None = None) -> list[Message]:
    sent: list[Message] = []

    async def receive() -> Message:
        if received is None:
            await asyncio.Event().wait()
        return received or {}

    async def send(message: Message) -> None:
        sent.append(message)

    await download({"type": "http", "asgi": {"spec_version": "2.3"}}, receive, send)
    return sent


async def test_download_has_content_name_and_type() -> None:
    pieces = Pieces(50)
    async with served(pieces) as url, httpx.AsyncClient() as client:
        answer = await client.get(url)
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="rows.csv"'
    assert len(answer.content) == 50 * 65_536
    assert pieces.closed.is_set()


async def test_failing_download_is_visibly_incomplete() -> None:
    pieces = Pieces(50, fails_at=20)
    async with served(pieces) as url, httpx.AsyncClient() as client:
        with pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read"):
            await client.get(url)
    assert pieces.closed.is_set()


async def test_download_without_chunks_is_empty_and_an_early_failure_sends_nothing() -> None:
    async def refuse(message: Message) -> None:
        raise AssertionError(message)

    with pytest.raises(RuntimeError, match="the store is gone"):
        await make_download(Pieces(5, fails_at=0)).stream_response(refuse)
    start, end = await answered(make_download(Pieces(0)))
    assert (start["status"], end) == (200, {"type": "http.response.body", "body": b"", "more_body": False})


async def test_disconnected_reader_closes_the_chunks() -> None:
    pieces = Pieces(1_000_000)
    async with served(pieces) as url, httpx.AsyncClient() as client:
        async with client.stream("GET", url) as answer:
            async for _ in answer.aiter_raw():
                break
        async with asyncio.timeout(TIMEOUT_S):
            await pieces.closed.wait()
    assert pieces.made < 1_000


async def test_chunks_are_made_as_the_reader_takes_them() -> None:
    pieces = Pieces(1_000_000)
    async with served(pieces) as url, httpx.AsyncClient() as client, client.stream("GET", url):
        made = -1
        while made != pieces.made < 1_000:  # until no more are made
            made = pieces.made
            await asyncio.sleep(0.3)
        assert made < 1_000


@in_virtual_time
async def test_stalled_reader_is_disconnected() -> None:
    pieces = Pieces(10)

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    with pytest.raises(ClientDisconnect):
        await make_download(pieces, TransferRate(grace_s=0.05)).stream_response(send)
    assert (pieces.made, pieces.closed.is_set()) == (1, True)


def taking(seconds: float) -> Callable[[Message], Awaitable[None]]:
    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            await asyncio.sleep(seconds)

    return send


@in_virtual_time
async def test_reader_is_disconnected_only_below_the_minimum_rate() -> None:
    pieces = Pieces(1_000)
    min_rate = TransferRate(grace_s=0.2, min_bytes_per_s=10 * 65_536)  # a piece in 0.1 s
    with pytest.raises(ClientDisconnect):
        await make_download(pieces, min_rate).stream_response(taking(0.15))  # never long enough for one piece alone
    assert (1 < pieces.made < 20, pieces.closed.is_set()) == (True, True)
    await make_download(pieces := Pieces(20), min_rate).stream_response(taking(0.09))
    assert pieces.made == 20


@in_virtual_time
async def test_time_to_make_chunks_does_not_count_against_the_reader() -> None:
    async def slowly() -> AsyncGenerator[bytes, None]:
        for _ in range(5):
            await asyncio.sleep(0.05)
            yield b"x"

    min_rate = TransferRate(grace_s=0.1, min_bytes_per_s=1_000_000)
    sent = await answered(Download(slowly(), filename="rows.csv", media_type="text/csv", min_rate=min_rate))
    assert sent[-1]["more_body"] is False


async def test_disconnect_drops_what_the_server_buffered() -> None:
    pieces = Pieces(1_000_000)
    async with served(pieces, TransferRate(grace_s=0.3)) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]), limit=1)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        async with asyncio.timeout(TIMEOUT_S):
            await pieces.closed.wait()
            taken = 0
            while received := await reader.read(65_536):
                taken += len(received)
        writer.close()
        await writer.wait_closed()
    assert taken < (pieces.made - 1) * 65_536  # the last one was waiting to be taken by the server itself
