"""HTTP requests from a process that is not the server, at next to no cost of their own: httpx would take longer over
a request than the server does, and make every server look alike.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import cast

from tests.benchmarks.processes import HOST

_HEAD_END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and body."""

    status: int
    body: bytes


def request(method: str, path: str, token: str | None = None, body: bytes = b"", **headers: str) -> bytes:
    """A request as it goes over the wire."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {HOST}", f"Content-Length: {len(body)}"]
    lines += ["Content-Type: application/json"] if body else []
    lines += [f"Authorization: Bearer {token}"] if token else []
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + _HEAD_END + body


class Connection(asyncio.Protocol):
    """A connection that is kept, with one request under way at a time. Answers have a Content-Length."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._answer: asyncio.Future[Answer] | None = None

    @classmethod
    async def open(cls, port: int) -> "Connection":
        """Connect to a port of this machine."""
        _, protocol = await asyncio.get_running_loop().create_connection(cls, HOST, port)
        return protocol

    async def send(self, raw: bytes) -> Answer:
        """The answer. Raises `ConnectionError` where the connection ends before it."""
        if self._transport is None:
            raise ConnectionError("the connection is closed")
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(raw)
        return await self._answer

    def close(self) -> None:
        """Let go of it."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionError(f"the connection ended: {exc}"))

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.find(_HEAD_END)
        if end < 0:
            return
        head = bytes(self._received[:end])
        start = end + len(_HEAD_END)
        length = _length(head)
        if len(self._received) < start + length or self._answer is None:
            return
        answer = Answer(int(head[9:12]), bytes(self._received[start : start + length]))
        del self._received[: start + length]
        self._answer.set_result(answer)


def _length(head: bytes) -> int:
    lowered = head.lower()
    at = lowered.find(b"content-length:")
    return 0 if at < 0 else int(lowered[at + 15 : lowered.find(b"\r", at) if b"\r" in lowered[at:] else None])


@dataclass(slots=True)
class Driven:
    """What came of a load: answers a second, and how long each took in seconds."""

    per_s: float
    latencies_s: list[float] = field(default_factory=list)


async def drive(port: int, raw: Iterator[bytes], connections: int, seconds: float, wanted: int) -> Driven:
    """A closed loop: each connection sends its next request once it has the answer to the last.

    Raises `AssertionError` for an answer of another status than `wanted`: a fast refusal is no throughput.
    """
    lines = await asyncio.gather(*(Connection.open(port) for _ in range(connections)))
    latencies: list[float] = []
    begin = time.perf_counter()
    deadline = begin + seconds

    async def work(line: Connection) -> None:
        while (sent := time.perf_counter()) < deadline:
            answer = await line.send(next(raw))
            if answer.status != wanted:
                raise AssertionError(f"{answer.status}: {answer.body[:500]!r}")
            latencies.append(time.perf_counter() - sent)

    try:
        await asyncio.gather(*map(work, lines))
        return Driven(len(latencies) / (time.perf_counter() - begin), latencies)
    finally:
        for line in lines:
            line.close()


async def paced(times: Iterator[float], send: Callable[[], Awaitable[None]]) -> None:
    """An open loop: `send` at each of the times (seconds from now), however long those before it take."""
    begin = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for at in times:
            await asyncio.sleep(max(0.0, begin + at - time.perf_counter()))
            tasks.create_task(_sent(send))


async def _sent(send: Callable[[], Awaitable[None]]) -> None:
    await send()
