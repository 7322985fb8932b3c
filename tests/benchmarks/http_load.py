"""HTTP load from a process that is not the server.

An httpx request costs more processor time than the server's answer, which would make all servers look alike.
"""

import asyncio
import re
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import cast

from tests.benchmarks.processes import HOST

_HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\ncontent-length: *(\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RawResponse:
    """Status and body."""

    status: int
    body: bytes


def request_bytes(method: str, path: str, token: str | None = None, body: bytes = b"", key: str | None = None) -> bytes:
    """Return a request as sent over the wire; `key` is its Idempotency-Key."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {HOST}", f"Content-Length: {len(body)}"]
    lines += ["Content-Type: application/json"] if body else []
    lines += [f"Authorization: Bearer {token}"] if token else []
    lines += [f"Idempotency-Key: {key}"] if key else []
    return "\r\n".join(lines).encode() + _HEAD_END + body


class KeptConnection(asyncio.Protocol):
    """A kept connection with one request at a time; responses need a Content-Length."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._response: asyncio.Future[RawResponse] | None = None

    @classmethod
    async def open(cls, port: int) -> "KeptConnection":
        """Connect to a port of this machine."""
        _, protocol = await asyncio.get_running_loop().create_connection(cls, HOST, port)
        return protocol

    async def send(self, request: bytes) -> RawResponse:
        """Return the response. Raises `ConnectionError` when the connection ends before it."""
        if self._transport is None:
            raise ConnectionError("the connection is closed")
        self._response = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._response

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._response is not None and not self._response.done():
            self._response.set_exception(ConnectionError(f"the connection ended: {exc}"))

    def data_received(self, data: bytes) -> None:
        self._received += data
        start = self._received.find(_HEAD_END) + len(_HEAD_END)
        length = _LENGTH.search(self._received, 0, start)
        end = start + (int(length[1]) if length else 0)
        if start < len(_HEAD_END) or len(self._received) < end or self._response is None:
            return
        response = RawResponse(int(self._received[9:12]), bytes(self._received[start:end]))
        del self._received[:end]
        self._response.set_result(response)


async def send_closed_loop(
    port: int, requests: Iterator[bytes], connections: int, seconds: float, status: int
) -> tuple[int, float]:
    """Send the next request of each connection after its last response; return (responses, seconds).

    Raises `AssertionError` for a response with another status: a refusal is no throughput.
    """
    lines = await asyncio.gather(*(KeptConnection.open(port) for _ in range(connections)))
    begin, responses = time.perf_counter(), 0

    async def work(line: KeptConnection) -> None:
        nonlocal responses
        while time.perf_counter() < begin + seconds:
            response = await line.send(next(requests))
            assert response.status == status, f"{response.status}: {response.body[:500]!r}"
            responses += 1

    try:
        await asyncio.gather(*map(work, lines))
        return responses, time.perf_counter() - begin
    finally:
        for line in lines:
            line.close()


async def send_open_loop(times: Iterator[float], send: Callable[[], Coroutine[None, None, None]]) -> None:
    """Call `send` at each of the times, in seconds from the start, without waiting for the calls before."""
    begin = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for at in times:
            await asyncio.sleep(max(0.0, begin + at - time.perf_counter()))
            tasks.create_task(send())
